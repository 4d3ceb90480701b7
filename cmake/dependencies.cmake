# Every third-party library, found once. Debian package names: tools/packages-debian.txt.
find_package(PkgConfig REQUIRED)
pkg_check_modules(TG_DEPS REQUIRED expat jansson libcyaml nlopt libzip lapacke openblas)
find_library(TG_QHULL qhull_r REQUIRED)
find_package(Threads REQUIRED)
set(TG_DEP_INCLUDES ${TG_DEPS_INCLUDE_DIRS})
set(TG_DEP_LIBRARIES ${TG_DEPS_LINK_LIBRARIES} ${TG_QHULL} Threads::Threads m)

# Every third-party library, found once. Debian package names: tools/packages-debian.txt.
find_package(PkgConfig REQUIRED)
pkg_check_modules(TG_DEPS REQUIRED expat jansson libcyaml yaml-0.1 nlopt libzip zlib)
find_library(TG_QHULL qhull_r REQUIRED)
find_package(Threads REQUIRED)

# CoACD from the Python package of that name: only its shared library is used, loaded when a mesh is to be cut. Its C interface
# has no version in it, so exactly the version that src/geom/decompose.c is written for is taken.
set(TG_COACD "AUTO" CACHE STRING "Convex decomposition of meshes by CoACD: AUTO, ON or OFF")
set(TG_COACD_DIR "" CACHE PATH "Folder that holds the Python package coacd; empty: build/venv")
set(TG_COACD_VERSION 1.0.14)
set(TG_COACD_LIBRARY "")
if(NOT TG_COACD STREQUAL "OFF")
  file(GLOB where ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages)
  foreach(folder ${TG_COACD_DIR} ${where})
    if(NOT TG_COACD_LIBRARY AND EXISTS ${folder}/coacd/lib_coacd.so AND EXISTS ${folder}/coacd-${TG_COACD_VERSION}.dist-info)
      file(REAL_PATH ${folder}/coacd/lib_coacd.so TG_COACD_LIBRARY)
    endif()
  endforeach()
  if(NOT TG_COACD_LIBRARY AND TG_COACD STREQUAL "ON")
    message(FATAL_ERROR "TG_COACD is ON, but there is no coacd ${TG_COACD_VERSION}: pip install coacd==${TG_COACD_VERSION} into build/venv, or set TG_COACD_DIR")
  endif()
endif()
message(STATUS "Convex decomposition: ${TG_COACD_LIBRARY}")


# COLLADA meshes
option(TG_ASSIMP "Read COLLADA meshes by assimp where it is installed" ON)
if(TG_ASSIMP)
  pkg_check_modules(ASSIMP assimp)
endif()

# the small server of `tangere replay --live`; used by the command line alone
pkg_check_modules(MICROHTTPD libmicrohttpd)

set(TG_DEP_INCLUDES ${TG_DEPS_INCLUDE_DIRS})
set(TG_DEP_LIBRARIES ${TG_DEPS_LINK_LIBRARIES} ${ASSIMP_LINK_LIBRARIES} ${TG_QHULL} Threads::Threads ${CMAKE_DL_LIBS} m)

# multiple shooting: AUTO takes Ipopt where it is installed, ON insists, OFF leaves it out
set(TG_IPOPT AUTO CACHE STRING "Build multiple shooting with Ipopt: AUTO, ON or OFF")
set_property(CACHE TG_IPOPT PROPERTY STRINGS AUTO ON OFF)
set(TG_HAVE_IPOPT FALSE)
if(NOT TG_IPOPT STREQUAL "OFF")
  if(TG_IPOPT STREQUAL "ON")
    pkg_check_modules(IPOPT REQUIRED ipopt)
  else()
    pkg_check_modules(IPOPT ipopt)
  endif()
  if(IPOPT_FOUND)
    set(TG_HAVE_IPOPT TRUE)
    find_library(TG_IPOPT_LIBRARY ipopt HINTS ${IPOPT_LIBRARY_DIRS} REQUIRED)
    list(APPEND TG_DEP_INCLUDES ${IPOPT_INCLUDE_DIRS})
    list(APPEND TG_DEP_LIBRARIES ${TG_IPOPT_LIBRARY})
  endif()
endif()

# What `cmake --install` puts below the prefix (docs/linking.md). Everything finds the rest from its own place, so the tree may be moved.
include(CMakePackageConfigHelpers)
set(TG_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tangere)
set(TG_SHARE_DIR ${CMAKE_INSTALL_DATADIR}/tangere)

# libraries and headers
install(TARGETS tangere EXPORT tangereTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tangere_static EXPORT tangereStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
file(GLOB folders CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src/contact/*/include)
foreach(folder ${folders})
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endforeach()

# for find_package
install(EXPORT tangereTargets NAMESPACE tangere:: DESTINATION ${TG_PACKAGE_DIR})
install(EXPORT tangereStaticTargets NAMESPACE tangere:: DESTINATION ${TG_PACKAGE_DIR})
configure_package_config_file(cmake/tangereConfig.cmake.in ${PROJECT_BINARY_DIR}/tangereConfig.cmake INSTALL_DESTINATION ${TG_PACKAGE_DIR}
  PATH_VARS TG_SHARE_DIR NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tangereConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tangereConfig.cmake ${PROJECT_BINARY_DIR}/tangereConfigVersion.cmake DESTINATION ${TG_PACKAGE_DIR})

# for pkg-config: the shared library, and the archive
file(RELATIVE_PATH TG_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
list(TRANSFORM TG_ARCHIVE_NEEDS PREPEND "-l" OUTPUT_VARIABLE TG_PC_NEEDS)
list(JOIN TG_PC_NEEDS " " TG_PC_NEEDS)
foreach(name tangere tangere-static)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# models, and the page that replays are made of, which Node makes (`make viewer`) where the program of the build looks for it
set(TG_VIEWER_PAGE ${TG_BIN_DIR}/../share/tangere/viewer.html)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models DESTINATION ${TG_SHARE_DIR} FILES_MATCHING PATTERN "*.xml" PATTERN "*.yaml" PATTERN "*.npz" PATTERN "*.obj")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${TG_VIEWER_PAGE} DESTINATION ${TG_SHARE_DIR} OPTIONAL)
install(CODE "if(NOT EXISTS \"${TG_VIEWER_PAGE}\")
  message(WARNING \"${TG_VIEWER_PAGE} is not there: replays cannot be written. `make viewer` makes it, TG_BIN_DIR=${TG_BIN_DIR}\")
endif()")

# the programs, with their manual page and the completions of shells, which the program prints: what it prints, its file in the tree
if(TG_BUILD_PROGRAMS)
  install(TARGETS tangere_cli tangere_reproduce RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(TG_PRINTED "manual;man1/tangere.1" "completion bash;bash-completion/completions/tangere" "completion zsh;zsh/site-functions/_tangere"
    "completion fish;fish/vendor_completions.d/tangere.fish")
  set(made "")
  while(TG_PRINTED)
    list(POP_FRONT TG_PRINTED words file)
    separate_arguments(words)
    add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/printed/${file} DEPENDS tangere_cli
      COMMAND $<TARGET_FILE:tangere_cli> ${words} > ${PROJECT_BINARY_DIR}/printed/${file})
    list(APPEND made ${PROJECT_BINARY_DIR}/printed/${file})
    get_filename_component(folder ${file} DIRECTORY)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/printed/${folder})
    if(folder STREQUAL man1)
      install(FILES ${PROJECT_BINARY_DIR}/printed/${file} DESTINATION ${CMAKE_INSTALL_MANDIR}/${folder})
    else()
      install(FILES ${PROJECT_BINARY_DIR}/printed/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
    endif()
  endwhile()
  add_custom_target(tangere_printed ALL DEPENDS ${made})
endif()

# last: the list of what was installed, by which cmake/uninstall.cmake takes it away again
install(CODE "set(list \"\")
foreach(file \${CMAKE_INSTALL_MANIFEST_FILES})
  file(RELATIVE_PATH name \${CMAKE_INSTALL_PREFIX} \${file})
  string(APPEND list \"\${name}\\n\")
endforeach()
file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${TG_SHARE_DIR}/installed.txt\" \"\${list}\")")
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DPREFIX=${CMAKE_INSTALL_PREFIX} -DLIST=${TG_SHARE_DIR}/installed.txt -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)

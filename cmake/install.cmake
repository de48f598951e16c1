# What `cmake --install` and the packages (cmake/package.cmake) put below a prefix. Two components:
#   runtime       the binary, share/quern (models, papers, recipes), completions, the manual page, licenses
#   development   libquern.so (every room, C and C++), headers, and find_package(quern) → quern::quern
# Nothing installed names the build machine: the binary looks for ../share/quern from its own place.
if(NOT TARGET quern_shared)
  return()
endif()
include(CMakePackageConfigHelpers)
set(QUERN_DATA ${CMAKE_INSTALL_DATADIR}/quern)
set(QUERN_DOC ${CMAKE_INSTALL_DATADIR}/doc/quern)

install(TARGETS quern RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/models ${CMAKE_SOURCE_DIR}/papers DESTINATION ${QUERN_DATA} COMPONENT runtime)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/recipes DESTINATION ${QUERN_DATA} COMPONENT runtime FILES_MATCHING PATTERN "*.toml")
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${QUERN_DOC} RENAME copyright COMPONENT runtime)
install(FILES ${CMAKE_SOURCE_DIR}/NOTICE ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION ${QUERN_DOC} COMPONENT runtime)

# Made by the target quern_texts out of what the binary says; absent from an installation that did not build it.
set(texts ${CMAKE_BINARY_DIR}/texts)
install(FILES ${texts}/quern.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime OPTIONAL)
install(FILES ${texts}/quern DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime OPTIONAL)
install(FILES ${texts}/_quern DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT runtime OPTIONAL)
install(FILES ${texts}/quern.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime OPTIONAL)

# Header-only libraries become part of the binary, so their licenses come along, as the build machine's packages state
# them. (fmt's license asks for nothing of the kind.)
foreach(package nlohmann-json3-dev libtomlplusplus-dev libxxhash-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${QUERN_DOC}/third-party RENAME ${package}
    COMPONENT runtime OPTIONAL)
endforeach()

install(TARGETS quern_shared EXPORT quern LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  NAMELINK_COMPONENT development)
install(FILES ${CMAKE_SOURCE_DIR}/quern/capi/quern.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
# Every header: the C++ interface is the whole library. A narrower interface replaces this one rule.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h" PATTERN "testdata" EXCLUDE)
install(EXPORT quern NAMESPACE quern:: FILE quern-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern
  COMPONENT development)
file(WRITE ${CMAKE_BINARY_DIR}/quern-config.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(fmt)\nfind_dependency(OpenMP)\ninclude(\${CMAKE_CURRENT_LIST_DIR}/quern-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/quern-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/quern-config.cmake ${CMAKE_BINARY_DIR}/quern-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern COMPONENT development)

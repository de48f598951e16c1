# What `cmake --install` and the packages (cmake/package.cmake) put below a prefix. Two components:
#   runtime       the binary, share/quern (models, papers, recipes), completions, the manual page, licenses
#   development   libquern.so, its headers (include/), find_package(quern) → quern::quern, and quern.pc for pkg-config
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

install(FILES ${CMAKE_SOURCE_DIR}/deploy/quern.service DESTINATION lib/systemd/system COMPONENT runtime)

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
# The public headers, which include nothing but the standard libraries and each other.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT quern NAMESPACE quern:: FILE quern-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern
  COMPONENT development)
file(WRITE ${CMAKE_BINARY_DIR}/quern-config.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/quern-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/quern-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/quern-config.cmake ${CMAKE_BINARY_DIR}/quern-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern COMPONENT development)
file(RELATIVE_PATH QUERN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" QUERN_PC_PREFIX ${QUERN_PC_PREFIX})
configure_file(${CMAKE_SOURCE_DIR}/cmake/quern.pc.in ${CMAKE_BINARY_DIR}/quern.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/quern.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# What embedders get: libquern.so (every room, C and C++), the headers, and find_package(quern) → quern::quern.
if(NOT TARGET quern_shared)
  return()
endif()
include(CMakePackageConfigHelpers)
install(TARGETS quern RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS quern_shared EXPORT quern LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_SOURCE_DIR}/quern/capi/quern.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/quern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "testdata" EXCLUDE)
install(EXPORT quern NAMESPACE quern:: FILE quern-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern)
file(WRITE ${CMAKE_BINARY_DIR}/quern-config.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(fmt)\nfind_dependency(OpenMP)\ninclude(\${CMAKE_CURRENT_LIST_DIR}/quern-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/quern-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/quern-config.cmake ${CMAKE_BINARY_DIR}/quern-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quern)

# Packages of what cmake/install.cmake installs: one .deb and one .tar.gz. `./run package` builds and checks them.
if(NOT TARGET quern_shared)
  return()
endif()

# Completions and the manual page, out of what the binary answers. Not part of a plain build.
set(texts ${CMAKE_BINARY_DIR}/texts)
add_custom_command(OUTPUT ${texts}/quern ${texts}/_quern ${texts}/quern.fish ${texts}/quern.1
  COMMAND ${CMAKE_SOURCE_DIR}/tools/package-texts $<TARGET_FILE:quern> ${texts}
  DEPENDS quern ${CMAKE_SOURCE_DIR}/tools/package-texts VERBATIM)
add_custom_target(quern_texts DEPENDS ${texts}/quern.1)

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME quern)
set(CPACK_PACKAGE_VENDOR "The Quern authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Train, run and serve small language models on CPUs")
set(CPACK_PACKAGE_FILE_NAME quern-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_SOURCE_DIR}/build/package)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Quern authors")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# Needed by those who compile against the headers, or start ranks as processes.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, openmpi-bin")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"One binary and one C++20 library: corpus building, training, an inference
engine with continuous batching, and a server with OpenAI-compatible and
Anthropic-compatible APIs. A small model comes with it. Needs an x86-64 CPU
with AVX2.")
include(CPack)

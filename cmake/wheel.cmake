# QUERN_WHEEL: what the Python package carries (./run wheel). It runs on systems that have nothing but the C and C++ run-time
# libraries, and is small:
#   one library      libquern.so holds the verbs too, as quern_main; the binary is a stub that calls it
#   archives         third-party libraries are linked from .a files where there are any, so that no other version of them,
#                    which another Python extension may have loaded, is taken instead
#   libstdc++        linked in as well: that of Debian 12 is newer than that of systems with glibc 2.34. libgcc_s is the system's
# The preset leaves out oneDNN (40 MB for one kernel of which the project has its own), Open MPI, OpenSSL, and bzip2, whose
# archive in Debian is not position independent.
# tools/wheel checks the outcome.
option(QUERN_WHEEL "build for the Python wheel: one library, third-party archives" OFF)
if(NOT QUERN_WHEEL)
  return()
endif()
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
# For -lNAME: a folder with archives only, searched first.
set(archives ${CMAKE_BINARY_DIR}/archives)
file(MAKE_DIRECTORY ${archives})
foreach(name stemmer sqlite3)
  find_library(QUERN_ARCHIVE_${name} ${name} REQUIRED)
  mark_as_advanced(QUERN_ARCHIVE_${name})
  get_filename_component(file ${QUERN_ARCHIVE_${name}} NAME)
  file(CREATE_LINK ${QUERN_ARCHIVE_${name}} ${archives}/${file} SYMBOLIC)
endforeach()
link_directories(BEFORE ${archives})
add_compile_options(-ffunction-sections)  # so that --gc-sections finds what nothing calls
add_link_options(-static-libstdc++ -shared-libgcc -Wl,--as-needed -Wl,--gc-sections -Wl,-O1)
if(EXISTS /usr/bin/ld.gold)  # joins functions whose code is the same
  add_link_options(-fuse-ld=gold -Wl,--icf=safe)
endif()

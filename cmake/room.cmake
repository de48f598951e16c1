# quern_room(NAME DEPS a b LIBS lib…): the folder that calls it becomes the static library quern_NAME
# (every *.cc but tests and benches) and, when tests are on, the test program test_NAME (every *_test.cc).
# Files named *_avx2.cc, *_avx512.cc, *_avx512vnni.cc, *_avx512bf16.cc and *_amx.cc get the flags of their instruction
# set, and no others do.
find_package(OpenMP REQUIRED)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
if(QUERN_TESTS)
  find_package(GTest REQUIRED)
endif()

# -Wstringop-overflow, -Warray-bounds, -Wrestrict: GCC 12 sees overflows and overlaps in std::string and std::vector
# copies that are not there. At -O3, which the wheel has, it also sees uninitialized and foreign memory in their moves.
add_library(quern_flags INTERFACE)
target_include_directories(quern_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/gen> $<INSTALL_INTERFACE:include>)
target_compile_options(quern_flags INTERFACE $<BUILD_INTERFACE:-Wall -Wextra -Wno-psabi -fno-math-errno $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow -Wno-array-bounds -Wno-restrict>>)
if(QUERN_WHEEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(quern_flags INTERFACE $<BUILD_INTERFACE:-Wno-maybe-uninitialized -Wno-stringop-overread -Wno-free-nonheap-object>)
endif()
set(QUERN_FMT fmt::fmt)
if(QUERN_WHEEL)  # Debian has no archive of it
  set(QUERN_FMT quern_fmt)
  add_library(quern_fmt STATIC ${CMAKE_SOURCE_DIR}/python/native/fmt.cc)
  target_compile_definitions(quern_fmt PUBLIC FMT_SHARED)
endif()
target_link_libraries(quern_flags INTERFACE OpenMP::OpenMP_CXX ${QUERN_FMT} Threads::Threads)
# With the compiler of Debian 12. Newer ones know more warnings, some of them wrong, which should stop nobody.
if(QUERN_WERROR AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(quern_flags INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(QUERN_SANITIZE)  # with which GCC 12 warns of its own <regex>
  target_compile_options(quern_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-maybe-uninitialized>)
  target_link_options(quern_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=address,undefined>)
endif()
if(QUERN_FUZZ)
  # clang knows other warnings than GCC, whose build is the one that must be clean.
  target_compile_options(quern_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=fuzzer-no-link,address,undefined;-Wno-error>)
  target_link_options(quern_flags INTERFACE $<BUILD_INTERFACE:-fsanitize=address,undefined>)
endif()

# One precompiled header for everything, and one more for tests: the standard library, fmt and GoogleTest, nothing of ours
# that changes daily. Sources include what they use all the same.
set(QUERN_PCH <algorithm> <array> <atomic> <bit> <bitset> <charconv> <chrono> <cmath> <condition_variable> <cstdint>
  <cstdio> <cstdlib> <cstring> <deque> <filesystem> <fstream> <functional> <limits> <list> <map> <memory> <mutex> <numeric>
  <optional> <set> <span> <string> <string_view> <thread> <tuple> <unordered_map> <unordered_set> <utility> <variant>
  <vector> <fmt/format.h>)
add_library(quern_pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(quern_pch PUBLIC quern_flags)
target_precompile_headers(quern_pch PRIVATE ${QUERN_PCH})
if(QUERN_TESTS)
  add_library(quern_test_pch STATIC ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
  target_link_libraries(quern_test_pch PUBLIC quern_flags GTest::gtest)
  target_precompile_headers(quern_test_pch PRIVATE ${QUERN_PCH} <gtest/gtest.h>)
endif()

# quern_precompiled(TARGET [PCH]): TARGET uses the precompiled header. GCC takes it only for code of the same kind, and
# CMake compiles executables with -fPIE.
function(quern_precompiled TARGET)
  set(pch quern_pch ${ARGN})
  list(GET pch -1 pch)
  get_target_property(type ${TARGET} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_compile_options(${TARGET} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${TARGET} REUSE_FROM ${pch})
endfunction()

# What only reads, writes and waits is small in the wheel: it is a third of the code.
function(quern_cold TARGET)
  if(QUERN_WHEEL)
    target_compile_options(${TARGET} PRIVATE -Os)
    set_target_properties(${TARGET} PROPERTIES PCH_WARN_INVALID OFF)  # that of -O3 does not serve here
  endif()
endfunction()

# GCC 12's own AVX-512 header trips over its deliberately undefined registers.
set(QUERN_AVX512_NOISE "-Wno-uninitialized;-Wno-maybe-uninitialized")
function(quern_isa_flags)
  foreach(f ${ARGN})
    # Tile instructions are written as assembly, which needs no flag.
    if(f MATCHES "_(avx512bf16|amx)\\.cc$")
      set_source_files_properties(${f} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
        "${QUERN_AVX512_NOISE};-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512bf16;-mavx512vnni;-mavx2;-mfma;-mf16c;-O3")
    elseif(f MATCHES "_avx512vnni\\.cc$")
      set_source_files_properties(${f} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
        "${QUERN_AVX512_NOISE};-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mavx2;-mfma;-mf16c;-O3")
    elseif(f MATCHES "_avx512\\.cc$")
      set_source_files_properties(${f} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS
        "${QUERN_AVX512_NOISE};-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx2;-mfma;-mf16c;-O3")
    elseif(f MATCHES "_avx2\\.cc$")
      set_source_files_properties(${f} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-O3")
    elseif(f MATCHES "_ref\\.cc$")
      set_source_files_properties(${f} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-O3")
    endif()
  endforeach()
endfunction()

# quern_add_test(NAME PROGRAM target [SLOW] [ARGUMENTS a…]): what ctest runs, side by side with others: a test may keep
# nothing under a fixed name or port. Those of QUERN_TIMED_TESTS measure and have the machine for themselves.
set(QUERN_TIMED_TESTS host)
set(QUERN_TEST_TIMEOUT 1200)  # three times what the longest takes on a slow and busy machine
if(QUERN_SANITIZE)  # several times slower
  set(QUERN_TEST_TIMEOUT 3000)
endif()
function(quern_add_test NAME)
  cmake_parse_arguments(T "SLOW" "PROGRAM" "ARGUMENTS" ${ARGN})
  add_test(NAME ${NAME} COMMAND ${CMAKE_SOURCE_DIR}/tests/run_program ${NAME} $<TARGET_FILE:${T_PROGRAM}> ${T_ARGUMENTS})
  if(T_SLOW)
    set_tests_properties(${NAME} PROPERTIES LABELS slow)
  else()
    set_tests_properties(${NAME} PROPERTIES LABELS fast TIMEOUT ${QUERN_TEST_TIMEOUT})
  endif()
  if(NAME IN_LIST QUERN_TIMED_TESTS)
    set_tests_properties(${NAME} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

define_property(GLOBAL PROPERTY QUERN_ROOMS BRIEF_DOCS "every room target")
function(quern_room NAME)
  cmake_parse_arguments(R "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(benches ${sources})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  quern_isa_flags(${sources})
  if(NOT sources)
    set(sources ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
  endif()
  add_library(quern_${NAME} STATIC ${sources})
  target_link_libraries(quern_${NAME} PUBLIC quern_flags)
  foreach(d ${R_DEPS})
    target_link_libraries(quern_${NAME} PUBLIC quern_${d})
  endforeach()
  target_link_libraries(quern_${NAME} PRIVATE ${R_LIBS})
  quern_precompiled(quern_${NAME})
  quern_batched(quern_${NAME})
  if(NAME MATCHES "^serve_")
    quern_cold(quern_${NAME})
  endif()
  set_property(GLOBAL APPEND PROPERTY QUERN_ROOMS quern_${NAME})
  if(benches)  # *_bench.cc owes `void bench_NAME(host::Bench&)` in its room's namespace (quern/host/bench.h)
    add_library(quern_${NAME}_bench STATIC ${benches})
    target_link_libraries(quern_${NAME}_bench PUBLIC quern_${NAME} quern_host)
    quern_precompiled(quern_${NAME}_bench)
    set_property(GLOBAL APPEND PROPERTY QUERN_BENCHES ${NAME})
  endif()
  if(QUERN_TESTS AND tests)
    add_executable(test_${NAME} ${tests})
    target_link_libraries(test_${NAME} PRIVATE quern_${NAME} GTest::gtest GTest::gtest_main)
    quern_precompiled(test_${NAME} quern_test_pch)
    quern_batched(test_${NAME})
    target_compile_definitions(test_${NAME} PRIVATE QUERN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" QUERN_BINARY_DIR="${CMAKE_BINARY_DIR}")
    set_target_properties(test_${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
    quern_add_test(${NAME} PROGRAM test_${NAME})
  endif()
endfunction()

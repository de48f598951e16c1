// The example program, built as a stranger would: install, find_package(quern), compile, run. By the CMake and the
// build tool that Quern itself was configured with: others need not be installed.
#include <gtest/gtest.h>

#include "tests/cli/shell.h"

namespace quern {
namespace {

#if defined(__SANITIZE_ADDRESS__)  // a sanitized library wants its runtime in the program
constexpr const char* kFlags =
    " -DCMAKE_C_FLAGS=-fsanitize=address,undefined -DCMAKE_CXX_FLAGS=-fsanitize=address,undefined";
#else
constexpr const char* kFlags = "";
#endif

TEST(Embed, InstalledLibraryServesTheExample) {
  ScratchFolder d;
  std::string prefix = d / "prefix", build = d / "build", source = std::string(QUERN_SOURCE_DIR) + "/examples/embed";
  const std::string cmake = "'" QUERN_CMAKE "' ";
  Ran r = shell(cmake + "--install " + std::string(QUERN_BINARY_DIR) + " --prefix " + prefix);
  ASSERT_EQ(r.code, 0) << r.err;
  r = shell(cmake + "-G '" QUERN_CMAKE_GENERATOR "' -S " + source + " -B " + build + " -DCMAKE_PREFIX_PATH=" +
            prefix + " -DCMAKE_BUILD_TYPE=Release" + kFlags + " && " + cmake + "--build " + build);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  ASSERT_EQ(shell("quern new --family zaya --size tiny --seed 1 " + (d / "m")).code, 0);
  r = shell(build + "/embed " + (d / "m") + " Once");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_FALSE(r.out.empty());
  r = shell(build + "/embed /nonexistent Once");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("/nonexistent"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern

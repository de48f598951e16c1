// What `quern --version` prints, and that whoever reports a version reports the same.
#include <gtest/gtest.h>

#include <regex>

#include "quern/base/json.h"
#include "quern/base/version.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

TEST(Version, IsPrintedWithTheCommit) {
  const std::string commit = version_commit(), line = "quern " + std::string(version());
  const Ran r = shell("quern --version");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, line + (commit.empty() ? "" : " (" + commit + ")") + "\n");
  EXPECT_TRUE(std::regex_match(r.out, std::regex(R"(quern [0-9]+\.[0-9]+\.[0-9]+( \([0-9a-f]{12}\))?\n)"))) << r.out;
  EXPECT_EQ(shell("quern version").out, r.out);
}

TEST(Version, IsWhatTheDoctorSays) {
  const Ran r = shell("quern doctor --quick --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("version").as_string(), version());
}

}  // namespace
}  // namespace quern

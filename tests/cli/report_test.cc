// quern report from outside: the page beside the run or where --out says, several runs, the summary, and mistakes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

void write_run(const std::string& folder, double loss) {
  std::filesystem::create_directories(folder);
  write_file(folder + "/metrics.jsonl", fmt::format("{{\"step\":1,\"loss\":{0},\"tokens\":64}}\n"
                                                    "{{\"step\":2,\"loss\":{0},\"tokens\":128}}\n",
                                                    loss));
}

TEST(CliReport, PagesAndSummaries) {
  ScratchFolder d;
  write_run(d / "a", 3), write_run(d / "b", 2), write_run(d / "c", 1);
  Ran r = shell(fmt::format("quern report {}", d / "a"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, (d / "a/report.html") + "\n");
  EXPECT_NE(read_file(d / "a/report.html").find("<h1>a</h1>"), std::string::npos);

  r = shell(
      fmt::format("quern report {} --compare {} {} --log-x --out {}", d / "a", d / "b", d / "c", d / "all.html"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(read_file(d / "all.html").find("<h1>a · b · c</h1>"), std::string::npos);
  EXPECT_NE(read_file(d / "all.html").find("class=\"switch\" checked"), std::string::npos);

  r = shell(fmt::format("quern report {} {} --json", d / "a", d / "c"));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  ASSERT_EQ(j.as_array().size(), 2u);
  EXPECT_EQ(j.as_array()[1].at("loss").as_double(), 1);
  EXPECT_EQ(j.as_array()[1].at("tokens").as_int(), 128);
}

TEST(CliReport, MistakesAreNamed) {
  ScratchFolder d;
  write_run(d / "a", 3);
  Ran r = shell(fmt::format("quern report {}", d / "none"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("expected the folder of a run"), std::string::npos) << r.err;
  EXPECT_EQ(shell(fmt::format("quern report {} --json --out x", d / "a")).code, 2);
  r = shell(fmt::format("quern report {} --out {}", d / "a", d / "no/such/page.html"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("cannot write"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern

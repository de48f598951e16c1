// Output that does not arrive: every verb fails and says so, but for a reader that had enough.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cli/shell.h"

namespace quern {
namespace {

const char* const kFull = "quern: cannot write to standard output: No space left on device\n";

TEST(CliOutput, AFullDiskFailsEveryVerb) {
  for (const char* words :
       {"--version", "--help", "gym list", "gym show lists", "gym check lists --seeds 10",
        "gym check lists --seeds 10 --json", "gym sample lists --count 3",
        R"(gym verify --expect '{"verifier": "number", "answer": "3"}' 3)", "info zaya-nano --json"}) {
    const Ran r = shell(fmt::format("quern {} >/dev/full", words));
    EXPECT_EQ(r.code, 1) << words;
    EXPECT_NE(r.err.find(kFull), std::string::npos) << words << ": " << r.err;
  }
}

TEST(CliOutput, OutputThatIsClosedFailsToo) {
  const Ran r = shell("quern gym show lists >&-");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("cannot write to standard output: Bad file descriptor"), std::string::npos) << r.err;
}

TEST(CliOutput, AClosedPipeIsQuiet) {
  // Where the signal that a closed pipe sends is ignored, the write fails instead.
  const Ran r = shell("sh -c 'trap \"\" PIPE; { sleep 0.3; quern gym list; echo status $? >&2; } | true'");
  EXPECT_EQ(r.err, "status 1\n");
}

}  // namespace
}  // namespace quern

// quern sandbox from outside: streams, exit statuses, JSON, mistakes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "quern/base/json.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

class CliSandbox : public testing::Test {
 protected:
  void SetUp() override {
    const Ran r = shell("unshare -Urpf true");
    if (r.code != 0) GTEST_SKIP() << "user namespaces are not permitted here: " << r.err;
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer needs more address space than a sandbox has";
#endif
  }
};

TEST_F(CliSandbox, PassesStreamsAndStatus) {
  const Ran r = shell("quern sandbox -- sh -c 'echo out; echo err >&2; exit 9'");
  EXPECT_EQ(r.code, 9);
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
  EXPECT_EQ(shell("echo a b c | quern sandbox --stdin - -- wc -w").out, "3\n");
  EXPECT_EQ(shell("echo a b c | quern sandbox -- wc -w").out, "0\n");
  EXPECT_EQ(shell("quern sandbox -- sh -c 'kill -SEGV $$'").code, 128 + 11);
}

TEST_F(CliSandbox, ReadsStandardInputWhileTheCommandRuns) {
  Ran r = shell("yes | timeout 20 quern sandbox --seconds 5 --stdin - -- head -1");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "y\n");
  r = shell("sleep 2 | timeout 20 quern sandbox --seconds 0.3 --stdin - -- cat");  // which never gives a line
  EXPECT_EQ(r.code, 124) << r.err;
  r = shell("seq 300000 | quern sandbox --stdin - -- wc -l");  // more than pipes hold
  EXPECT_EQ(r.out, "300000\n") << r.err;
  r = shell("timeout 20 quern sandbox --stdin /dev/zero -- head -c 3 | od -An -c");
  EXPECT_EQ(r.out, "  \\0  \\0  \\0\n") << r.err;
  EXPECT_NE(shell("quern sandbox --stdin /usr -- cat").err.find("--stdin /usr: it is a folder"), std::string::npos);
  EXPECT_NE(shell("quern sandbox --stdin none -- cat").err.find("--stdin none: No such file"), std::string::npos);
  EXPECT_NE(shell("quern sandbox --stdin - -- cat <&-").err.find("standard input is closed"), std::string::npos);
}

TEST_F(CliSandbox, FailsWhenItsOutputIsLost) {
  for (const char* words : {"-- seq 100000", "-- echo x", "--json -- echo x", "--json -- seq 100000"}) {
    const Ran r = shell(fmt::format("quern sandbox {} >/dev/full", words));
    EXPECT_EQ(r.code, 1) << words;
    EXPECT_NE(r.err.find("cannot write to standard output: No space left on device"), std::string::npos) << words;
  }
}

TEST_F(CliSandbox, TellsWhyACommandCannotBeRun) {
  Ran r = shell("quern sandbox -- no-such-program");
  EXPECT_EQ(r.code, 127);
  EXPECT_NE(r.err.find("cannot run 'no-such-program': No such file"), std::string::npos) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(shell("quern sandbox -- /etc/passwd").code, 126);
  EXPECT_EQ(shell("quern sandbox -- /usr").code, 126);
  r = shell("quern sandbox --json -- no-such-program");
  EXPECT_EQ(r.code, 127);
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("ended").as_string(), "not started");
  EXPECT_TRUE(j.at("status").is_null());
  EXPECT_NE(j.at("error").as_string().find("cannot run 'no-such-program'"), std::string::npos);
  EXPECT_TRUE(Json::parse(shell("quern sandbox --json -- true").out).at("error").is_null());
}

TEST_F(CliSandbox, TellsTheLimitThatStoppedIt) {
  Ran r = shell("quern sandbox --seconds 0.3 -- sleep 60");
  EXPECT_EQ(r.code, 124);
  EXPECT_NE(r.err.find("(--seconds 0.3)"), std::string::npos) << r.err;
  r = shell("quern sandbox --output-mib 1 -- yes | wc -c");
  EXPECT_EQ(r.out, "1048576\n");
  EXPECT_NE(r.err.find("(--output-mib 1)"), std::string::npos) << r.err;
  r = shell("quern sandbox --disk-mib 1 -- sh -c 'head -c 3000000 /dev/zero > f; ls -s --block-size=1M f'");
  EXPECT_EQ(r.out, "1 f\n") << r.err;
}

TEST_F(CliSandbox, PrintsJson) {
  const Ran r = shell("quern sandbox --json -- sh -c 'echo x; echo y >&2; exit 3'");
  EXPECT_EQ(r.code, 3);
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("ended").as_string(), "exit");
  EXPECT_EQ(j.at("status").as_int(), 3);
  EXPECT_TRUE(j.at("signal").is_null());
  EXPECT_EQ(j.at("stdout").as_string(), "x\n");
  EXPECT_EQ(j.at("stderr").as_string(), "y\n");
  EXPECT_FALSE(j.at("truncated").as_bool());
  EXPECT_GT(j.at("wall_s").as_double(), 0);
}

TEST_F(CliSandbox, MistakesAreNamed) {
  Ran r = shell("quern sandbox");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("no command is given"), std::string::npos) << r.err;
  const std::pair<const char*, const char*> cases[] = {{"--seconds 0", "--seconds: 0 is not above 0"},
                                                       {"--seconds -1", "--seconds: -1 is"},
                                                       {"--seconds nan", "--seconds: nan is not a number"},
                                                       {"--memory-mib 0", "--memory-mib: 0 is outside 1 to"},
                                                       {"--processes 5000", "--processes: 5000 is outside 1 to 4096"},
                                                       {"--output-mib 0", "--output-mib: 0 is"},
                                                       {"--disk-mib -3", "--disk-mib: -3 is"},
                                                       {"--read ''", "--read '': expected the path of a folder"}};
  for (const auto& [words, message] : cases) {
    r = shell(fmt::format("quern sandbox {} -- true", words));
    EXPECT_EQ(r.code, 2) << words;
    EXPECT_NE(r.err.find(message), std::string::npos) << words << ": " << r.err;
  }
  r = shell("quern sandbox ls -la");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("unknown flag '-la'"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("write -- before the command: quern sandbox [flags] -- ls"), std::string::npos) << r.err;
  EXPECT_EQ(shell("quern sandbox --secnds 3 -- ls -la").err.find("write --"), std::string::npos);
  r = shell("quern sandbox --read /no/such -- true");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("/no/such"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern

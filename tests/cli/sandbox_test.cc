// quern sandbox from outside: streams, exit statuses, JSON, mistakes.
#include <gtest/gtest.h>
#include <unistd.h>

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
  r = shell("quern sandbox -- no-such-program");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("cannot run 'no-such-program'"), std::string::npos) << r.err;
  r = shell("quern sandbox --seconds 0 -- true");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("seconds = 0: expected more than 0"), std::string::npos) << r.err;
  r = shell("quern sandbox --read /no/such -- true");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("/no/such"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace quern

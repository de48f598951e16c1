// Commands as a shell reads them, transcripts with elisions, and what a test changes in a command.
#include "tests/docs/commands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "quern/base/error.h"

namespace quern::docs {
namespace {

std::vector<std::string> numbered(const std::vector<Command>& commands) {
  std::vector<std::string> out;
  for (const Command& c : commands) out.push_back(fmt::format("{}:{}", c.line, c.text));
  return out;
}

using Lines = std::vector<std::string>;

TEST(Commands, AreSplitAsAShellReads) {
  EXPECT_EQ(numbered(shell_commands("# a comment\n\none a\ntwo \\\n  b\n  three # it's no quote \\\nfour\n", 10)),
            (Lines{"12:one a", "13:two \\\n  b", "15:  three # it's no quote \\", "16:four"}));
  EXPECT_EQ(numbered(shell_commands("a 'x\n y' \"z\\\"\n#w\"\nb <<< 'c'\nd\n", 1)),
            (Lines{"1:a 'x\n y' \"z\\\"\n#w\"", "4:b <<< 'c'", "5:d"}));
  EXPECT_EQ(numbered(shell_commands("cat <<'E' > f <<-F\nit's\nE\n\tsudo x\n\tF\nend\n", 1)),
            (Lines{"1:cat <<'E' > f <<-F\nit's\nE\n\tsudo x\n\tF", "6:end"}));
  EXPECT_EQ(numbered(shell_commands("a |\n  b && # why\n  c\ncat <<E |\nx\nE\n  sudo d\necho 'a |'\ne\n", 1)),
            (Lines{"1:a |\n  b && # why\n  c", "4:cat <<E |\nx\nE\n  sudo d", "8:echo 'a |'", "9:e"}));
}

TEST(Commands, ConsoleStepsHaveTheirOutput) {
  const std::vector<ConsoleStep> s = console_steps("$ a \\\n> b\n> shown\n\n$ cat <<E\nx\n> y\nE\n$ c\n", 5);
  ASSERT_EQ(s.size(), 3u);
  EXPECT_EQ(numbered({s[0].command, s[1].command, s[2].command}), (Lines{"5:a \\\nb", "9:cat <<E\nx\ny\nE", "13:c"}));
  EXPECT_EQ(s[0].output, (Lines{"> shown", ""}));
  EXPECT_TRUE(s[1].output.empty());
  EXPECT_THROW(console_steps("output\n$ a\n", 1), Error);
}

TEST(Commands, PrintedTextIsComparedWithElisions) {
  EXPECT_TRUE(prints("a\nb\n", {"a", "b"}));
  EXPECT_TRUE(prints("a \nb\n\n", {"a", "b", ""}));  // blanks at ends
  EXPECT_TRUE(prints("", {}));
  EXPECT_FALSE(prints("a\n", {}));
  EXPECT_FALSE(prints("", {"a"}));
  EXPECT_FALSE(prints("a\nb\nc\n", {"a", "b"}));
  EXPECT_FALSE(prints(" a\n", {"a"}));
  EXPECT_TRUE(prints("a\nb\nc\n", {"a", "…"}));
  EXPECT_TRUE(prints("a\nb\nc\n", {"…", "c"}));
  EXPECT_TRUE(prints("a\n", {"a", "…"}));
  EXPECT_FALSE(prints("a\nb\nc\n", {"…", "b"}));
  EXPECT_TRUE(prints("a\nb\na\nc\n", {"…", "a", "c"}));  // the first a is not the one
  EXPECT_TRUE(prints("took 1.5 s for 3 steps\n", {"took … s for … steps"}));
  EXPECT_FALSE(prints("took 1.5 s for 3 steps or so\n", {"took … s for … steps"}));
  EXPECT_FALSE(prints("one\ntwo\n", {"o…o"}));
}

TEST(Commands, SkippedOnesHaveAPrefix) {
  for (const char* c : {"./run demo", "sudo make", "  apt-get install x", "git clone u", "pip install x"})
    EXPECT_TRUE(is_skipped(c)) << c;
  for (const char* c : {"quern run x", "./runner", "git log", "echo ./run demo", "pip list"})
    EXPECT_FALSE(is_skipped(c)) << c;
}

int plus_1000(int port) { return port + 1000; }
std::string prepared(const char* command) { return prepare(command, plus_1000).text; }

TEST(Commands, PortsAndBinaryAreReplaced) {
  EXPECT_EQ(prepared("curl localhost:8080/x?n=80801&m=a8080 8081"), "curl localhost:9080/x?n=80801&m=a8080 9081");
  EXPECT_EQ(prepared("./build/release/apps/quern/quern run a | build/release/apps/quern/quern info b"),
            "quern run a | quern info b");
}

TEST(Commands, ServersInTheBackgroundAreAwaited) {
  EXPECT_EQ(prepared("quern serve a & # waits"),
            "docs_free_place 9080; quern serve --port 9080 a & docs_listening 9080 $!; # waits");
  EXPECT_EQ(prepared("X=1 quern serve a --port 8081 >log 2>&1 && true & p=$!"),
            "docs_free_place 9081; X=1 quern serve a --port 9081 >log 2>&1 && true & docs_listening 9081 $!; p=$!");
  EXPECT_EQ(prepared("quern serve --unix s.sock 'a & b' \\\n  &"),
            "docs_free_place s.sock; quern serve --unix s.sock 'a & b' \\\n  & docs_listening s.sock $!;");
  EXPECT_EQ(prepared("quern serve a --port 0 &"), "quern serve a --port 0 &");
  EXPECT_FALSE(prepare("quern serve a &", plus_1000).text.empty());
  EXPECT_TRUE(prepare("quern serve a &", plus_1000).background_server);
  EXPECT_FALSE(prepare("echo quern serve a &", plus_1000).background_server);
  EXPECT_FALSE(prepare("quern serve --help", plus_1000).background_server);
  EXPECT_EQ(prepare("quern serve --help", plus_1000).complaint, "");
  EXPECT_NE(prepare("quern serve a # &", plus_1000).complaint, "");
  EXPECT_NE(prepare("quern serve a 2>&1", plus_1000).complaint, "");
}

}  // namespace
}  // namespace quern::docs

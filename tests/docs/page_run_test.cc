// The runner of pages, on pages with planted failures: each must be reported with its line, and nothing else.
#include "tests/docs/page_run.h"

#include <gtest/gtest.h>

#include <csignal>

#include "quern/base/mmap.h"
#include "tests/cli/shell.h"
#include "tests/docs/fixtures.h"

namespace quern::docs {
namespace {

namespace fs = std::filesystem;

Page sample(const std::string& name) {
  return read_page(name, read_file(fs::path(QUERN_SOURCE_DIR) / "tests/docs/testdata" / name));
}

class PageRunner : public testing::Test {
 protected:
  RunPlace place(double seconds = 120) { return {fixtures_ / "files", scratch_ / "run", seconds}; }
  void make_corpus() {
    fs::create_directories(fixtures_ / "files/corpus");
    write_file(fixtures_ / "files/corpus/a.jsonl", corpus_lines(std::vector<std::string>(20, "A sentence."), "a", 3));
  }

  ScratchFolder fixtures_, scratch_;
};

std::vector<int> lines(const PageRun& run) {
  std::vector<int> out;
  for (const Complaint& c : run.complaints) out.push_back(c.line);
  return out;
}

TEST_F(PageRunner, RunsEveryCommandInOneShell) {
  make_corpus();
  const PageRun run = run_page(sample("good.md"), place());
  EXPECT_EQ(format(run.complaints), "");
  EXPECT_EQ(run.commands, 16);
  EXPECT_EQ(run.skipped,
            (std::vector<std::string>{"./run demo", "git clone https://example.org/quern", "sudo make install",
                                      "./run test", "pip install nothing", "apt-get install nothing"}));
  EXPECT_EQ(read_file(scratch_ / "run/page/recipe.toml"),
            "sudo stands in a document and is not a command\nname = \"$name\"\n");
}

TEST_F(PageRunner, ReportsEveryFailureWithItsLine) {
  fs::create_directories(fixtures_ / "files");
  const PageRun run = run_page(sample("bad.md"), place());
  EXPECT_EQ(lines(run), (std::vector<int>{37, 41, 5, 12, 16, 18, 20, 26, 32, 45, 50})) << format(run.complaints);
  ASSERT_EQ(run.complaints.size(), 11u);
  const auto says = [&](size_t complaint, const char* what) {
    EXPECT_NE(run.complaints[complaint].text.find(what), std::string::npos) << run.complaints[complaint].text;
    EXPECT_EQ(run.complaints[complaint].page, "bad.md");
  };
  says(0, "begins with a command");
  says(1, "start it with &");
  says(2, "missing.txt: No such file");
  says(3, "( false )");
  says(4, "| shown");
  says(5, "| second");
  says(6, "'false' failed with exit status 1");
  says(7, "syntax error");
  says(8, "exit status 127");
  says(9, "the shell ended");
  says(10, "not run");
}

TEST_F(PageRunner, EndsAPageThatDoesNot) {
  fs::create_directories(fixtures_ / "files");
  const PageRun run = run_page(sample("slow.md"), place(1));
  EXPECT_EQ(lines(run), std::vector<int>{8});
  EXPECT_NE(format(run.complaints).find("still running after 1 s"), std::string::npos) << format(run.complaints);
  EXPECT_LT(run.seconds, 20);
  // Also what had left the page's process group is gone.
  EXPECT_NE(::kill(std::stoi(read_file(scratch_ / "run/pid")), 0), 0);
}

TEST_F(PageRunner, ServersListenAtFreePorts) {
  for (const auto& [family, name] : {std::pair{"zaya", "ZAYA1-8B"}, {"zamba2", "Zamba2-2.7B"}, {"llama", "Llama"}})
    ASSERT_EQ(
        shell(std::string("quern new --size tiny --family ") + family + " " + (fixtures_ / "files/") + name).code, 0);
  const PageRun run = run_page(sample("serve.md"), place());
  EXPECT_EQ(lines(run), (std::vector<int>{13, 31})) << format(run.complaints);
  EXPECT_NE(format(run.complaints).find("the server ended before it listened"), std::string::npos);
}

TEST(PagesOfCommands, AreKnown) {
  EXPECT_TRUE(has_commands(sample("good.md")));
  EXPECT_FALSE(has_commands(sample("links.md")));
  EXPECT_FALSE(has_commands(read_page("p", "```sh\n./run demo\n# nothing\n```\n```bash\necho\n```\n")));
}

TEST(Fixtures, CorpusHasDuplicates) {
  const std::vector<std::string> sentences = {"One.", "Two.", "Three.", "Four.",  "Five.",   "Six.",
                                              "Ten.", "Red.", "Blue.",  "White.", "Yellow.", "Gray."};
  const std::string text = corpus_lines(sentences, "s", 9);
  EXPECT_EQ(text, corpus_lines(sentences, "s", 9));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9 + 2 + 1);
  EXPECT_NE(text.find("\"s-8-copy\""), text.npos);
  EXPECT_NE(text.find("\"s-1-near\""), text.npos);
}

}  // namespace
}  // namespace quern::docs

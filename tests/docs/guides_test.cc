// README.md and docs/: every command works, every link leads somewhere, and they speak the field's language. One test
// per page with commands: build/dev/test/test_docs --gtest_filter='*docs_training_md*' runs those of
// docs/training.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iostream>

#include "quern/base/mmap.h"
#include "tests/cli/shell.h"
#include "tests/docs/code_blocks.h"
#include "tests/docs/fixtures.h"
#include "tests/docs/links.h"
#include "tests/docs/page_run.h"
#include "tests/docs/pages.h"
#include "tests/docs/words.h"

namespace quern::docs {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__)
constexpr double kPageSeconds = 600;
#else
constexpr double kPageSeconds = 120;
#endif

std::vector<Page> read_all(const std::vector<std::string>& names) {
  std::vector<Page> out;
  for (const std::string& name : names) out.push_back(read_project_page(name));
  return out;
}

void expect_none(const std::vector<Complaint>& complaints) { EXPECT_TRUE(complaints.empty()) << format(complaints); }

std::vector<std::string> pages_with_commands() {
  std::vector<std::string> out;
  for (const Page& p : read_all(guides()))
    if (has_commands(p)) out.push_back(p.name);
  return out;
}

const fs::path& fixtures() {
  static const ScratchFolder folder;
  static const fs::path files = [] {
    const fs::path at = folder / "files";
    make_fixtures(at);
    return at;
  }();
  return files;
}

class Guide : public testing::TestWithParam<std::string> {};

TEST_P(Guide, CommandsWork) {
  if (GetParam() == "docs/sandbox.md" && shell("unshare -Urpf true").code != 0)
    GTEST_SKIP() << "user namespaces are not permitted here, and quern sandbox refuses to run without";
  const ScratchFolder scratch;
  const PageRun run = run_page(read_project_page(GetParam()), {fixtures(), scratch / "run", kPageSeconds});
  std::cout << fmt::format("{}: {} commands in {:.1f} s, {} skipped{}{}\n", GetParam(), run.commands, run.seconds,
                           run.skipped.size(), run.skipped.empty() ? "" : ": ", fmt::join(run.skipped, "; "));
  expect_none(run.complaints);
}

std::string test_name(const testing::TestParamInfo<std::string>& page) {
  std::string name = page.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Pages, Guide, testing::ValuesIn(pages_with_commands()), test_name);

TEST(Guides, AreFound) {
  EXPECT_GT(guides().size(), 10u);
  EXPECT_GT(all_pages().size(), guides().size());
}

TEST(Guides, HaveACommandThatIsRun) {
  for (const Page& p : read_all(guides()))
    if (p.name != "docs/README.md") {
      EXPECT_TRUE(has_commands(p)) << p.name << " has no ```sh or ```console block with a command";
    }
}

TEST(Guides, MarkShellCommandsAsSh) {  // other names would not be run
  for (const Page& p : read_all(guides()))
    for (const Block& b : p.blocks)
      for (const char* other : {"bash", "shell", "zsh", "shell-session", "terminal"})
        EXPECT_NE(b.language, other) << p.name << ':' << b.line << ": write ```sh or ```console";
}

TEST(Guides, CodeCompilesAgainstTheInstalledHeaders) {
  const ScratchFolder prefix;
  const Ran r = shell(fmt::format("cmake --install '{}' --prefix '{}'", QUERN_BINARY_DIR, prefix / ""));
  ASSERT_EQ(r.code, 0) << r.err;
  int blocks = 0;
  for (const char* name : {"README.md", "docs/embed.md"}) {
    if (!fs::exists(project_root() / name)) continue;
    const Page page = read_project_page(name);
    expect_none(compile_complaints(page, prefix / "include"));
    blocks += compiled_blocks(page);
  }
  EXPECT_GT(blocks, 0) << "neither README.md nor docs/embed.md shows C or C++";
}

TEST(Guides, JsonAndTomlParse) {
  for (const Page& p : read_all(guides())) expect_none(data_complaints(p));
}

TEST(Guides, LinksLeadSomewhere) { expect_none(link_complaints(read_all(all_pages()), project_root())); }

// The text after the first line, which is the verb's name and purpose.
std::string usage(const std::string& command) {
  const Ran r = shell(command + " --help");
  EXPECT_EQ(r.code, 0) << command << ": " << r.err;
  const size_t from = r.out.find("\n\n");
  if (from == r.out.npos) return "";
  return r.out.substr(from + 2, r.out.find_last_not_of(" \n") + 1 - from - 2) + "\n";
}

TEST(Guides, CliReferenceIsWhatTheBinaryPrints) {
  const Page page = read_project_page("docs/cli.md");
  size_t verbs = 0;
  for (const Block& b : page.blocks) {
    if (b.language != "text") continue;
    const auto after =
        std::find_if(page.headings.begin(), page.headings.end(), [&](const Heading& h) { return h.line > b.line; });
    ASSERT_NE(after, page.headings.begin());
    const std::string verb = std::prev(after)->text, command = verb.starts_with("quern ") ? verb : "quern";
    EXPECT_EQ(b.text, usage(command)) << "docs/cli.md:" << b.line << ": write it again by tools/docs/cli.py";
    ++verbs;
  }
  EXPECT_GT(verbs, 30u);
}

TEST(Guides, EnvironmentsAreThoseOfTheBinary) {
  const std::string page = read_file(project_root() / "docs/gym/environments.md");
  const size_t begin = page.find('\n', page.find("<!-- environments:")), end = page.find("<!-- end of environments");
  ASSERT_LT(begin, end);
  std::string names;  // of this tree, without those of the tests
  for (const fs::directory_entry& e : fs::directory_iterator(project_root() / "quern/gym"))
    if (fs::exists(e.path() / "CMakeLists.txt")) names += " " + e.path().filename().string();
  const Ran r = shell("quern gym list --markdown" + names);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(page.substr(begin + 1, end - begin - 1), r.out) << "write it again by tools/docs/environments.sh";
}

const WordList& words() {
  static const WordList list = read_words(read_file(project_root() / "tests/docs/words.txt"));
  return list;
}

TEST(Guides, UseTheTermsOfTheField) {
  EXPECT_GT(words().wanted.size(), 50u);
  const std::vector<std::string> missing = missing_words(read_all(guides()), words());
  EXPECT_TRUE(missing.empty()) << fmt::format("these occur on no page: {}", fmt::join(missing, ", "));
}

TEST(Guides, UseNoPrivateWords) {
  EXPECT_GT(words().unwanted.size(), 50u);
  std::vector<Page> pages = read_all(guides());
  for (Page& p : pages)
    if (p.name == "docs/cli.md") p.prose = read_file(project_root() / p.name);  // what --help prints is in its blocks
  expect_none(unwanted_words(pages, words()));
}

}  // namespace
}  // namespace quern::docs

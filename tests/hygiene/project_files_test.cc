// Facts that stand in more than one file of the project agree: the version, the papers cited, the license of what a
// shipped model was trained on, the sources that templates name. No file holds the marks of an unfinished merge.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "quern/base/version.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = QUERN_SOURCE_DIR;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in) << file;
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Group `group` of every match.
std::vector<std::string> matches(const std::string& text, const char* pattern, int group = 1) {
  const std::regex r(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator i(text.begin(), text.end(), r), end; i != end; ++i) out.push_back((*i)[group]);
  return out;
}

bool is_code(const fs::path& file) {
  static const std::set<std::string> kEndings = {".cc", ".h",  ".c",    ".in",  ".cmake",
                                                 ".sh", ".py", ".html", ".cff", ""};
  return kEndings.contains(file.extension()) || file.filename() == "CMakeLists.txt";
}

TEST(ProjectFiles, TheVersionIsSpelledOnce) {
  const std::string build = text_of(kRoot / "CMakeLists.txt");
  const auto declared = matches(build, R"(project\(quern VERSION ([0-9.]+))");
  ASSERT_EQ(declared.size(), 1u);
  EXPECT_EQ(declared[0], version());

  const std::string number = std::regex_replace(declared[0], std::regex(R"(\.)"), R"(\.)");
  const std::regex spelled("(^|[^0-9.])" + number + "($|[^0-9.])");
  std::vector<fs::path> files = {kRoot / "run", kRoot / "CITATION.cff", kRoot / "CMakePresets.json"};
  for (const char* folder : {"apps", "cmake", "examples", "lab", "python", "quern", "tools", "web"})
    for (const auto& e : fs::recursive_directory_iterator(kRoot / folder))
      if (e.is_regular_file() && is_code(e.path())) files.push_back(e.path());
  EXPECT_GT(files.size(), 500u);
  for (const fs::path& f : files)
    EXPECT_FALSE(std::regex_search(text_of(f), spelled)) << f << " spells the version, which CMakeLists.txt declares";
}

TEST(ProjectFiles, TheCommitIsTwelveDigitsOrNothing) {
  const std::string commit = version_commit();
  EXPECT_TRUE(std::regex_match(commit, std::regex("([0-9a-f]{12})?"))) << commit;
  EXPECT_EQ(commit.empty(), !fs::exists(kRoot / ".git"));
}

TEST(ProjectFiles, TheChangelogBeginsWithTheVersion) {
  const auto versions = matches(text_of(kRoot / "CHANGELOG.md"), R"(\n## ([0-9.]+))");
  ASSERT_FALSE(versions.empty());
  EXPECT_EQ(versions[0], version());
}

bool unmerged(const std::string& text) {
  static const std::regex marks("(^|\n)(<{7,}|>{7,}) ");
  return std::regex_search(text, marks);
}

TEST(ProjectFiles, NoFileIsHalfMerged) {
  EXPECT_TRUE(unmerged("a\n" + std::string(8, '<') + " HEAD:web/a.css\n"));
  EXPECT_FALSE(unmerged("a << b\n" + std::string(7, '>') + "\n"));
  int files = 0;
  for (const char* folder : {"apps", "bench", "cmake", "docs", "examples", "include", "lab", "papers", "quern",
                             "recipes", "tests", "tools", "web"})
    for (const auto& e : fs::recursive_directory_iterator(kRoot / folder))
      if (e.is_regular_file() && e.file_size() < 200'000) {
        ++files;
        EXPECT_FALSE(unmerged(text_of(e.path()))) << e.path();
      }
  EXPECT_GT(files, 1000);
}

// The first line of a template says which sources fill it.
TEST(ProjectFiles, TemplatesNameTheirSources) {
  int named = 0;
  for (const auto& e : fs::directory_iterator(kRoot / "web")) {
    const std::string text = text_of(e.path());
    for (const std::string& file : matches(text.substr(0, text.find('\n')), R"(((quern|lab)/[\w/]+\.(cc|h))\b)")) {
      ++named;
      EXPECT_TRUE(fs::exists(kRoot / file)) << e.path() << " names " << file;
    }
  }
  EXPECT_GE(named, 3);
}

TEST(ProjectFiles, EveryPaperIsCited) {
  const std::string citation = text_of(kRoot / "CITATION.cff");
  const auto numbers = matches(citation, R"re(value: "arXiv:([0-9.]+)")re"),
             folders = matches(citation, R"re(description: "papers/([a-z0-9-]+)")re");
  ASSERT_EQ(numbers.size(), folders.size());
  for (size_t i = 0; i < folders.size(); ++i)
    EXPECT_NE(text_of(kRoot / "papers" / folders[i] / "README.md").find(numbers[i]), std::string::npos)
        << "CITATION.cff says papers/" << folders[i] << " is arXiv " << numbers[i];
  std::set<std::string> held;
  for (const auto& e : fs::directory_iterator(kRoot / "papers"))
    if (fs::exists(e.path() / "claims.toml")) held.insert(e.path().filename());
  EXPECT_EQ(std::set<std::string>(folders.begin(), folders.end()), held);
}

TEST(ProjectFiles, ShippedModelsNameTheirLicense) {
  const std::string license = text_of(kRoot / "LICENSE");
  EXPECT_EQ(matches(license, R"(\n +(Apache License)\n +Version 2\.0,)").size(), 1u);
  int models = 0;
  for (const auto& e : fs::directory_iterator(kRoot / "models")) {
    ++models;
    EXPECT_EQ(matches(text_of(e.path() / "README.md"), R"(\nlicense: (apache-2\.0)\n)").size(), 1u) << e.path();
  }
  EXPECT_GT(models, 0);
}

// The packages whose prose the nano models read, from the script that fetches them.
TEST(ProjectFiles, TheModelCardListsEverySourceOfProse) {
  const auto list = matches(text_of(kRoot / "recipes/nano-prose.sh"), R"(\npackages=\(([^)]*)\))");
  ASSERT_EQ(list.size(), 1u);
  const std::string card = text_of(kRoot / "models/zaya-nano/README.md");
  const std::string names = std::regex_replace(list[0], std::regex(R"(\{[^}]*\})"), "");  // a-{b,c} is listed as a-b
  const auto packages = matches(names, R"([a-z]\S*[a-z0-9])", 0);
  EXPECT_GT(packages.size(), 10u);
  for (const std::string& p : packages)
    EXPECT_NE(card.find("| " + p), std::string::npos)
        << p << " is in recipes/nano-prose.sh and not in the model card";
}

}  // namespace
}  // namespace quern

// The example programs, built as a stranger would: install, find_package(quern) or pkg-config, compile, run. By the
// CMake and the build tool that Quern itself was configured with: others need not be installed.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

#if defined(__SANITIZE_ADDRESS__)  // a sanitized library wants its runtime in the program
constexpr const char* kSanitize = " -fsanitize=address,undefined";
#else
constexpr const char* kSanitize = "";
#endif
const std::string kCMake = "'" QUERN_CMAKE "' ";

class Embed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    const Ran r = shell(kCMake + "--install '" QUERN_BINARY_DIR "' --prefix " + path("prefix"));
    ASSERT_EQ(r.code, 0) << r.err;
    ASSERT_EQ(shell("quern new --family zaya --size tiny --seed 1 " + path("model")).code, 0);
  }
  static void TearDownTestSuite() { delete scratch_; }
  static std::string path(const std::string& name) { return *scratch_ / name; }

  // Configures and builds a folder of examples/ against the installation.
  static void build(const std::string& example) {
    const std::string flags =
        std::string(" '-DCMAKE_C_FLAGS=") + kSanitize + "' '-DCMAKE_CXX_FLAGS=" + kSanitize + "'";
    const Ran r = shell(kCMake + "-G '" QUERN_CMAKE_GENERATOR "' -S '" QUERN_SOURCE_DIR "/examples/" + example +
                        "' -B " + path(example) + " -DCMAKE_PREFIX_PATH=" + path("prefix") +
                        " -DCMAKE_BUILD_TYPE=Release" + flags + " && " + kCMake + "--build " + path(example));
    ASSERT_EQ(r.code, 0) << r.out << r.err;
  }

  static ScratchFolder* scratch_;
};
ScratchFolder* Embed::scratch_ = nullptr;

TEST_F(Embed, InstalledLibraryServesTheExample) {
  ASSERT_NO_FATAL_FAILURE(build("embed"));
  const std::string embed = path("embed/embed ");
  Ran r = shell(embed + path("model") + " Once");
  EXPECT_EQ(r.code, 0) << r.err;
  // The same tokens as the binary gives.
  const Ran run = shell("quern run " + path("model") + " --plain -p Once -n 32 --temp 0");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(r.out, run.out);
  r = shell(embed + "/nonexistent Once");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("/nonexistent"), std::string::npos) << r.err;
}

TEST_F(Embed, ASessionGoesOnInTheNextRun) {
  ASSERT_NO_FATAL_FAILURE(build("embed"));
  const std::string embed = path("embed/embed ") + path("model") + " ";
  auto tokens = [](const Ran& r) {  // "[123 tokens in the session]"
    EXPECT_EQ(r.code, 0) << r.err;
    const size_t at = r.out.rfind('[');
    return at == std::string::npos ? 0 : std::stoi(r.out.substr(at + 1));
  };
  const int first = tokens(shell(embed + "Hello " + path("chat")));
  const int second = tokens(shell(embed + "Again " + path("chat")));
  EXPECT_GT(first, 0);
  EXPECT_GT(second, first);
  // The file is a chat file of the binary, too.
  const Ran r = shell("echo Bye | quern run " + path("model") + " -n 4 --temp 0 --chat-file " + path("chat"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("resumed a chat of " + std::to_string(second)), std::string::npos) << r.err;
}

TEST_F(Embed, TheCppExampleAnswersInJson) {
  ASSERT_NO_FATAL_FAILURE(build("embed-cpp"));
  Ran r = shell(path("embed-cpp/embed_cpp ") + path("model") + " 'Do you know it?'");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out.rfind("perplexity ", 0), 0u) << r.out;
  std::istringstream lines(r.out);
  int answers = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.find("\"known\"") != std::string::npos) ++answers;
  EXPECT_EQ(answers, 2) << r.out;
  r = shell(path("embed-cpp/embed_cpp ") + "/nonexistent x");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("/nonexistent"), std::string::npos) << r.err;
}

// Documents in two sources, a recipe that makes tokens of them, and one that trains on these for six steps.
void write_recipes(const std::string& folder, const std::string& model) {
  std::string lines;
  for (int i = 0; i < 60; ++i)
    lines += R"({"text": "Mill )" + std::to_string(i % 50) + R"( ground )" + std::to_string(i % 50 * 7 + 3) +
             " sacks of rye, and the sea was " + std::string(static_cast<size_t>(i % 50 + 1), 's') + "alt.\"}\n";
  write_file(folder + "/docs.jsonl", lines);  // the last ten are duplicates
  write_file(folder + "/corpus.toml", R"(title = "mills"
source = [{ name = "mills", paths = ["docs.jsonl"] }]
dedup = { preset = "exact" }
tokenize = { tokenizer = ")" + model + R"(" }
)");
  write_file(folder + "/train.toml", R"(name = "mills"
model = { from = ")" + model + R"(", fresh = true }
[[phase]]
steps = 6
sequence_length = 32
batch_size = 4
schedule = { peak = 4e-3, warmup = 0.25, final = 4e-4 }
data = [{ path = "out/corpus/tokens" }]
)");
}

TEST_F(Embed, TheTrainingExampleMakesACorpusAndAModel) {
  ASSERT_NO_FATAL_FAILURE(build("train-cpp"));
  const std::string work = path("work");
  std::filesystem::create_directories(work);
  write_recipes(work, path("model"));
  const std::string train = path("train-cpp/train_cpp ");
  Ran r = shell("cd " + work + " && " + train + "corpus.toml train.toml out");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out.rfind("kept 50 documents\n", 0), 0u) << r.out;
  EXPECT_NE(r.out.find("step 6 of 6: loss "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\n8 tokens of "), std::string::npos) << r.out;
  EXPECT_TRUE(std::filesystem::exists(work + "/out/corpus/manifest.json"));
  // The same model as the binary trains.
  const Ran run = shell("cd " + work + " && quern train train.toml --set checkpoint.every=10 --out by_binary");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(read_file(work + "/out/model/model.safetensors"), read_file(work + "/by_binary/model/model.safetensors"));
  r = shell("cd " + work + " && " + train + "nothing.toml train.toml other");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("nothing.toml"), std::string::npos) << r.err;
}

TEST_F(Embed, PkgConfigFindsTheLibrary) {
  if (shell("command -v pkg-config").code != 0) GTEST_SKIP() << "no pkg-config here";
  const std::string find = "PKG_CONFIG_PATH=$(dirname $(find " + path("prefix") + " -name quern.pc)) pkg-config ";
  const Ran r = shell("cc" + std::string(kSanitize) + " -o " + path("by_pkg_config") +
                      " '" QUERN_SOURCE_DIR "/examples/embed/main.c' $(" + find + "--cflags --libs quern) && " +
                      "LD_LIBRARY_PATH=$(" + find + "--variable=libdir quern) " + path("by_pkg_config") + " " +
                      path("model") + " Once");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_FALSE(r.out.empty());
}

// The text between two marks of docs/embed.md.
std::string guide_part(const std::string& begin, const std::string& end) {
  const std::string guide = read_file(QUERN_SOURCE_DIR "/docs/embed.md");
  const size_t from = guide.find(begin);
  return from == guide.npos ? "" : guide.substr(from, guide.find(end, from) - from);
}

TEST_F(Embed, TheGuideCallsItFromPython) {
  if (shell("command -v python3").code != 0) GTEST_SKIP() << "no Python here";
  if (*kSanitize != 0) GTEST_SKIP() << "Python was not started with the sanitizer's runtime";
  const std::string script = guide_part("import ctypes", "```");
  ASSERT_FALSE(script.empty());
  write_file(path("guide.py"), script);
  std::filesystem::rename(path("model"), path("tiny"));
  const Ran r = shell("cd " + path("") + " && LD_LIBRARY_PATH=$(dirname $(find " + path("prefix") +
                      " -name libquern.so)) python3 guide.py");
  std::filesystem::rename(path("tiny"), path("model"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_FALSE(r.out.empty());
}

TEST_F(Embed, OnlyThePublicInterfaceIsInstalled) {
  std::set<std::string> headers;
  const std::filesystem::path include = path("prefix") + "/include";
  for (const auto& f : std::filesystem::recursive_directory_iterator(include))
    if (f.is_regular_file()) headers.insert(f.path().lexically_relative(include));
  EXPECT_EQ(headers, (std::set<std::string>{"quern.h", "quern/quern.h", "quern/quern.hpp"}));
  const Ran r = shell("nm -D --defined-only $(find " + path("prefix") + " -name libquern.so) | cut -d' ' -f3");
  ASSERT_EQ(r.code, 0) << r.err;
  std::istringstream names(r.out);
  int functions = 0;
  const std::string guide = guide_part("| function |", "**Sessions**");
  for (std::string name; std::getline(names, name); ++functions) {
    EXPECT_EQ(name.rfind("quern_", 0), 0u) << name;
    EXPECT_NE(guide.find("`" + name + "`"), std::string::npos) << name << " is not in the table of docs/embed.md";
  }
  EXPECT_GT(functions, 30);
}

}  // namespace
}  // namespace quern

// A study: its losses are those of the runs it names, equal variants are equal, other optimizers are not, what is
// done is not done again, and mistakes are named.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lab/ablation/study.h"
#include "quern/base/mmap.h"
#include "quern/train/report/metrics.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

fs::path write_study(const fs::path& folder, const std::string& more) {
  std::ofstream(folder / "study.toml") << fmt::format(R"(
name = "tiny"
tokenizer = "{}/models/zaya-nano"
seeds = 2
even = 0.5
data = {{ documents = 40, held = 6, levels = "1" }}
{}
[recipe]
dtype = "f32"
eval = {{ rows = 3, length = 32, data = [{{ path = "held" }}] }}
[recipe.model.config]
model_type = "zaya"
vocab_size = 4096
hidden_size = 16
num_hidden_layers = 2
num_attention_heads = 2
num_key_value_heads = 1
head_dim = 8
moe_intermediate_size = 16
num_experts = 3
router_hidden_size = 4
[[recipe.phase]]
steps = 20
length = 32
rows = 2
schedule = {{ peak = 4e-3 }}
data = [{{ path = "train" }}]
[[variant]]
name = "one"
[[variant]]
name = "same"
[[variant]]
name = "linear"
recipe.model.config = {{ quern_router = "linear", quern_attention = "gqa" }}
)",
                                                      QUERN_SOURCE_DIR, more);
  return folder / "study.toml";
}

TEST(Study, ComparesRunsOnTheSameTokens) {
  const tiny::Folder folder("study");
  const lab::Study study = lab::read_study(write_study(folder.path, ""));
  int said = 0;
  auto carry = [&] {
    return lab::run_study(study, nn::builtin_registry(), folder.path / "work", [&](const auto&) { ++said; });
  };
  const Json j = carry();
  auto loss = [&](const char* v) { return j.at("loss", "j").at(v, "j").as_double("j"); };
  EXPECT_EQ(loss("one"), loss("same"));
  EXPECT_NE(loss("one"), loss("linear"));
  EXPECT_EQ(j.at("above", "j").at("one", "j").at("linear", "j").as_double("j"), loss("one") - loss("linear"));
  double mean = 0, spread = 0;
  for (int seed : {0, 1}) {
    const train::RunMetrics m =
        train::read_metrics(folder.path / "work" / fmt::format("one-{}", seed) / "metrics.jsonl");
    ASSERT_EQ(m.evals.size(), 1u);
    mean += m.evals[0].eval_loss / 2;
    spread = std::max(spread, std::abs(m.evals[0].eval_loss - loss("one")));
    EXPECT_EQ(m.steps.size(), 20u);
    for (const train::StepMetrics& s : m.steps) {
      ASSERT_TRUE(s.balance);
      EXPECT_GE(*s.balance, 0);
      EXPECT_LE(*s.balance, 1 + 1e-12);
    }
  }
  EXPECT_NEAR(mean, loss("one"), 1e-12);
  EXPECT_GE(j.at("spread", "j").as_double("j"), spread - 1e-12);
  EXPECT_LT(j.at("parameters", "j").at("linear", "j").as_int("j"),
            j.at("parameters", "j").at("one", "j").as_int("j"));
  const fs::path kept = folder.path / "work" / "one-0" / "metrics.jsonl";
  const auto written = fs::last_write_time(kept);
  said = 0;
  EXPECT_EQ(carry(), j);
  EXPECT_EQ(fs::last_write_time(kept), written) << "it was trained again";
  EXPECT_EQ(said, 6) << "a line a run, none for data that are there";
}

// The documents are others, and nothing else: nothing that was trained on the old ones counts.
TEST(Study, OtherDataAreTrainedOn) {
  const tiny::Folder folder("study_data");
  lab::Study study = lab::read_study(write_study(folder.path, ""));
  study.variant.resize(1), study.seeds = 1;
  const auto carry = [&](const char* work) {
    return lab::run_study(study, nn::builtin_registry(), folder.path / work, [](const auto&) {});
  };
  const Json before = carry("work");
  study.data.seed = 2;
  const Json after = carry("work");
  EXPECT_NE(after, before);
  EXPECT_EQ(after, carry("new"));
  // A tokenizer of the same size with other content makes the data again.
  const fs::path copy = folder.path / "tok";
  fs::create_directories(copy);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"})
    fs::copy_file(study.base / study.tokenizer / name, copy / name);
  study.tokenizer = copy.string();
  const fs::path made = folder.path / "work/data/made.json";
  carry("work");
  const std::string same = read_file(made);
  std::string text = read_file(copy / "tokenizer.json");
  const size_t at = text.find_last_of(" \n");
  ASSERT_NE(at, text.npos);
  text[at] = text[at] == ' ' ? '\n' : ' ';
  write_file(copy / "tokenizer.json", text);
  carry("work");
  EXPECT_NE(read_file(made), same);
}

TEST(Study, FirstEvenStep) {
  const std::vector<double> even(40, 1.0);
  const auto first = [&](size_t steps, const std::vector<double>& b) {
    return lab::first_even(std::span(b).first(steps), 0.99);
  };
  EXPECT_EQ(first(15, even), std::nullopt);
  EXPECT_EQ(first(16, even), 16u);
  EXPECT_EQ(first(17, even), 16u);
  EXPECT_EQ(first(40, even), 16u);
  for (size_t bad : {1, 2, 10, 16, 17, 23, 24}) {  // step `bad` is in the means of `bad` to bad + 15
    std::vector<double> b = even;
    b[bad - 1] = 0;
    EXPECT_EQ(first(40, b), bad + 16) << bad;
    EXPECT_EQ(first(bad + 16, b), bad + 16) << bad;
    EXPECT_EQ(first(bad + 15, b), std::nullopt) << bad;
  }
}

TEST(Study, TheBinaryTellsTheSame) {
  const tiny::Folder folder("study_verb");
  const fs::path file = write_study(folder.path, ""), work = folder.path / "work", out = folder.path / "out.json";
  auto run = [&](const std::string& words) {
    const int status = std::system(fmt::format("'{}' study {} >'{}' 2>'{}'", tiny::binary(), words, out.string(),
                                               (folder.path / "said").string())
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  ASSERT_EQ(run(fmt::format("'{}' --work '{}' --json", file.string(), work.string())), 0);
  const Json told = Json::read(out);
  EXPECT_EQ(told, lab::run_study(lab::read_study(file), nn::builtin_registry(), work, [](const auto&) {}));
  ASSERT_EQ(run(fmt::format("'{}' --work '{}'", file.string(), work.string())), 0);
  EXPECT_NE(read_file(out).find("linear"), std::string::npos);
  EXPECT_EQ(run("nowhere.toml"), 1);
  EXPECT_EQ(run("--jsn"), 2);
}

TEST(Study, MistakesAreNamed) {
  const tiny::Folder folder("study_wrong");
  auto complaint = [&](const std::string& more, const std::string& extra = "") -> std::string {
    try {
      const fs::path file = write_study(folder.path, more);
      if (!extra.empty()) std::ofstream(file, std::ios::app) << extra;
      lab::run_study(lab::read_study(file), nn::builtin_registry(), folder.path / "work", [](const auto&) {});
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_NE(complaint("sedes = 1").find("sedes"), std::string::npos);
  EXPECT_NE(complaint("", "[[variant]]\nname = \"one\"\n").find("variant 'one'"), std::string::npos);
  EXPECT_NE(complaint("", "[[variant]]\nname = \"x\"\nrecipe.optimiser = {}\n").find("optimiser"), std::string::npos);
  EXPECT_NE(
      complaint("", "[[variant]]\nname = \"x\"\nrecipe.model.config = { quern_router = \"mpl\" }\n").find("'mpl'"),
      std::string::npos);
}

}  // namespace
}  // namespace quern

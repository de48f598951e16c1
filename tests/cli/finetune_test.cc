// quern finetune, merge and --lora as a person uses them: the shipped model learns a new way to answer from a file of
// questions, says so when asked, and keeps it when the adapter is merged.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/tensor/tensor.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// Sums answered in a sentence that the model never learned.
void write_sums(const std::string& file, int rows) {
  std::ofstream out(file);
  for (int i = 0; i < rows; ++i) {
    const int a = 2 + i * 7 % 40, b = 3 + i * 13 % 50;
    out << fmt::format("{{\"prompt\": \"What is {} + {}?\", \"completion\": \"Together that makes {}.\"}}\n", a, b,
                       a + b);
  }
}

double largest(const Tensor& a) {
  double m = 0;
  for (int64_t i = 0; i < a.size(); ++i) m = std::max(m, std::abs(a.item(i)));
  return m;
}
double largest_difference(const Tensor& a, const Tensor& b) {
  double m = 0;
  for (int64_t i = 0; i < a.size(); ++i) m = std::max(m, std::abs(a.item(i) - b.item(i)));
  return m;
}

TEST(Finetune, LearnsAnswersItRanItMergedAndEvaluatedThem) {
  const ScratchFolder tmp;
  write_sums(tmp / "sums.jsonl", 160);
  const std::string out = tmp / "lora";
  Ran r = shell(fmt::format("quern finetune zaya-nano {} --out {} --steps 60 --batch-size 4 --evaluations 2 --json",
                            tmp / "sums.jsonl", out));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json told = Json::parse(r.out);
  EXPECT_LT(told.at("loss").as_double(), 0.5 * told.at("loss_before").as_double()) << r.out;
  EXPECT_NE(r.err.find("152 rows to learn from, 8 held out"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("wanted    Together that makes"), std::string::npos) << r.err;
  for (const char* file : {"adapter_config.json", "adapter_model.safetensors", "report.html", "run/metrics.jsonl"})
    EXPECT_TRUE(fs::exists(fs::path(out) / file)) << file;
  EXPECT_NE(shell(fmt::format("quern finetune zaya-nano {} --out {}", tmp / "sums.jsonl", out)).err.find("--resume"),
            std::string::npos);
  write_sums(tmp / "others.jsonl", 40);
  const Ran others = shell(fmt::format("quern finetune zaya-nano {} --out {} --resume", tmp / "others.jsonl", out));
  EXPECT_EQ(others.code, 2) << "resumed with other rows";
  EXPECT_NE(others.err.find("is not what"), std::string::npos) << others.err;

  r = shell("echo 'What is 4 + 9?' | quern run zaya-nano --temp 0 -n 60 --lora " + out);
  EXPECT_NE(r.out.find("Together that makes"), std::string::npos) << r.out << r.err;
  r = shell("echo 'What is 4 + 9?' | quern run zaya-nano --temp 0 -n 60 --lora " + out + ":0");
  EXPECT_EQ(r.out.find("Together that makes"), std::string::npos) << "a scale of 0 is the base";
  r = shell("echo 'What is 4 + 9?' | quern run zaya-nano --temp 0 -n 60 --quant q8 --lora " + out);
  EXPECT_NE(r.out.find("Together that makes"), std::string::npos) << r.out << r.err;

  // Merged, it computes the same.
  r = shell(fmt::format("quern merge zaya-nano {} --out {} --dtype f32", out, tmp / "merged"));
  ASSERT_EQ(r.code, 0) << r.err;
  auto logits = [&](const std::string& model) {
    const Ran l =
        shell(fmt::format("quern logits {} --ids 2,40,50,60,70,80 --dtype f32 --out {}", model, tmp / "y.npy"));
    EXPECT_EQ(l.code, 0) << l.err;
    return load_npy(tmp / "y.npy");
  };
  const Tensor beside = logits("zaya-nano --lora " + out), merged = logits(tmp / "merged"),
               base = logits("zaya-nano");
  EXPECT_LE(largest_difference(beside, merged), 1e-4 * largest(beside));
  EXPECT_GT(largest_difference(beside, base), 0.02 * largest(beside));
  r = shell(fmt::format("quern merge zaya-nano {} --out {}", out, tmp / "merged"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("already exists"), std::string::npos) << r.err;
  EXPECT_NE(shell("echo 'What is 4 + 9?' | quern run " + (tmp / "merged") + " --temp 0 -n 60")
                .out.find("Together that makes"),
            std::string::npos)
      << "with the template of the model";

  // Every verb that measures takes the adapter.
  const std::string asked = "quern eval zaya-nano --level 1 --count 4 --max-tokens 24 --json --log ";
  ASSERT_EQ(shell(asked + (tmp / "base.jsonl")).code, 0);
  ASSERT_EQ(shell(asked + (tmp / "lora.jsonl") + " --lora " + out).code, 0);
  EXPECT_NE(read_file(tmp / "base.jsonl"), read_file(tmp / "lora.jsonl"));
  std::ofstream(tmp / "text.txt") << "Together that makes 12. Together that makes 40.";
  auto perplexity = [&](const std::string& more) {
    const Ran p = shell(fmt::format("quern ppl zaya-nano {} --json {}", tmp / "text.txt", more));
    EXPECT_EQ(p.code, 0) << p.err;
    return Json::parse(p.out).at("perplexity").as_double();
  };
  EXPECT_LT(perplexity("--lora " + out), perplexity(""));
}

TEST(Finetune, RecomputesActivationsWhenAsked) {
  const ScratchFolder tmp;
  write_sums(tmp / "sums.jsonl", 40);
  const auto learn = [&](const std::string& name, const std::string& flag) {
    const Ran r =
        shell(fmt::format("quern finetune zaya-nano {} --out {} --steps 2 --dtype f32 --batch-size 2 --evaluations 1 "
                          "--samples 0 --json {}",
                          tmp / "sums.jsonl", tmp / name, flag));
    EXPECT_EQ(r.code, 0) << r.err;
    const Json recipe = Json::parse(read_file(tmp / (name + "/run/recipe.json")));
    EXPECT_EQ(recipe.at("activation_checkpointing").as_bool(), !flag.empty());
    return Json::parse(r.out).at("loss").as_double();
  };
  // In bf16, kept and recomputed layers round differently.
  EXPECT_NEAR(learn("recomputed", "--activation-checkpointing"), learn("kept", ""), 1e-3);
}

TEST(Finetune, NamesWhatIsWrong) {
  const ScratchFolder tmp;
  write_sums(tmp / "sums.jsonl", 12);
  std::ofstream(tmp / "bad.jsonl") << "{\"prompt\": \"a\", \"completion\": \"b\"}\n{\"promt\": \"a\"}\nnot json\n";
  Ran r = shell("quern finetune zaya-nano " + (tmp / "bad.jsonl") + " --out " + (tmp / "x"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("bad.jsonl:2: expected messages"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("bad.jsonl:3"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("2 of 3 rows cannot be used"), std::string::npos) << r.err;
  EXPECT_EQ(shell("quern finetune zaya-nano").code, 2);
  EXPECT_EQ(shell("quern finetune zaya-nano " + (tmp / "sums.jsonl") + " --rank 0").code, 2);
  EXPECT_EQ(shell("quern finetune zaya-nano " + (tmp / "sums.jsonl") + " --base q5 --out " + (tmp / "y")).code, 2);
  r = shell("quern finetune zaya-nano " + (tmp / "sums.jsonl") + " --targets q_proj,query --out " + (tmp / "z"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("no matrix of this model is called 'query'"), std::string::npos) << r.err;
  r = shell("quern run zaya-nano -p a --lora " + (tmp / "nowhere"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("nowhere"), std::string::npos) << r.err;
  EXPECT_EQ(shell("quern run zaya-nano -p a --lora " + (tmp / "nowhere") + ":x").code, 2);
}

// Pairs of one shared block that differ by layer are no one matrix.
TEST(Merge, RefusesWhatSharedBlocksCannotHold) {
  const ScratchFolder tmp;
  const std::string goldens = QUERN_SOURCE_DIR "/tests/goldens/";
  Ran r = shell(fmt::format("quern merge {0}zamba2-2block {0}adapters/zamba2-2block --out {1}", goldens, tmp / "m"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("one matrix that 2 layers share"), std::string::npos) << r.err;
  EXPECT_FALSE(fs::exists(tmp / "m"));
  for (const char* name : {"llama", "llama-saved", "qwen2", "zaya"}) {
    const std::string adapter = goldens + "adapters/" + name, base = read_file(adapter + "/base.txt");
    const std::string folder = goldens + base.substr(0, base.find('\n'));
    r = shell(fmt::format("quern merge {} {} --out {} --dtype f32", folder, adapter, tmp / name));
    ASSERT_EQ(r.code, 0) << r.err;
    auto logits = [&](const std::string& model) {
      const Ran l = shell(fmt::format("quern logits {} --ids 2,4,5,6,7,8 --out {}", model, tmp / "y.npy"));
      EXPECT_EQ(l.code, 0) << l.err;
      return load_npy(tmp / "y.npy");
    };
    const Tensor beside = logits(folder + " --lora " + adapter), merged = logits(tmp / name);
    EXPECT_LE(largest_difference(beside, merged), 1e-4 * largest(beside)) << name;
  }
}

// Two answers that the model can give, of which one is preferred; then the same data by a recipe.
TEST(Finetune, LearnsWhichAnswersArePreferred) {
  const ScratchFolder tmp;
  {
    std::ofstream out(tmp / "pairs.jsonl");
    for (int i = 0; i < 80; ++i) {
      const int a = 2 + i * 7 % 40, b = 3 + i * 13 % 50;
      out << fmt::format(R"({{"prompt": [{{"role": "user", "content": "What is {} + {}?"}}],)", a, b)
          << fmt::format(R"( "chosen": [{{"role": "assistant", "content": "Sum: {}"}}],)", a + b)
          << fmt::format(R"( "rejected": [{{"role": "assistant", "content": "Answer: {}"}}]}})", a + b) << "\n";
    }
  }
  Ran r = shell(
      fmt::format("quern finetune zaya-nano {} --preference dpo --out {} --steps 30 --batch-size 4 --evaluations 2 "
                  "--base q8 --json",
                  tmp / "pairs.jsonl", tmp / "dpo"));
  ASSERT_EQ(r.code, 0) << r.err;
  const Json told = Json::parse(r.out);
  EXPECT_NEAR(told.at("loss_before").as_double(), std::log(2.0), 1e-3) << r.out;
  EXPECT_LT(told.at("loss").as_double(), 0.6) << r.out;
  EXPECT_EQ(told.at("accuracy").as_double(), 1) << r.out;
  EXPECT_GT(told.at("margin").as_double(), 0) << r.out;
  EXPECT_NE(r.err.find("76 rows to learn from, 4 held out"), std::string::npos) << r.err;
  EXPECT_TRUE(fs::exists(fs::path(tmp / "dpo") / "adapter_model.safetensors"));

  r = shell(fmt::format("quern data pairs {} --tokenizer {}/models/zaya-nano --out {} --json", tmp / "pairs.jsonl",
                        QUERN_SOURCE_DIR, tmp / "pairs"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("pairs").as_int(), 80);
  std::ofstream(tmp / "recipe.toml") << R"(
name = "preferences"
model = { from = "zaya-nano" }
adapter = { rank = 4 }
[[phase]]
steps = 3
sequence_length = 64
batch_size = 4
schedule = { peak = 1e-3 }
data = [{ path = "pairs" }]
preference = { loss = "ipo", beta = 0.2 }
)";
  r = shell(fmt::format("quern train {} --out {}", tmp / "recipe.toml", tmp / "run"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("80 pairs of answers, ipo: beta 0.2"), std::string::npos) << r.err;
  EXPECT_TRUE(fs::exists(fs::path(tmp / "run") / "reference-0.safetensors"));

  r = shell(fmt::format("quern finetune zaya-nano {} --out {}", tmp / "pairs.jsonl", tmp / "x"));
  EXPECT_NE(r.err.find("has to be asked for"), std::string::npos) << r.err;
  EXPECT_EQ(shell(fmt::format("quern finetune zaya-nano {} --preference kto", tmp / "pairs.jsonl")).code, 2);
  EXPECT_EQ(shell(fmt::format("quern finetune zaya-nano {} --label-smoothing 0.1", tmp / "pairs.jsonl")).code, 2);
}

}  // namespace
}  // namespace quern

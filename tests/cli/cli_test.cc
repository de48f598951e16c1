// The verbs from outside: exit codes, help, a model made, looked at, run and talked to; messages for mistakes.
#include <gtest/gtest.h>

#include "quern/base/cpu.h"
#include "quern/base/json.h"
#include "quern/tensor/tensor.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

TEST(Cli, UsageMistakesExitWithTwoAndAHint) {
  EXPECT_EQ(shell("quern").code, 2);
  Ran r = shell("quern tokenzie x");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("did you mean 'tokenize'"), std::string::npos) << r.err;
  r = shell("quern run somewhere --tmep 1");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("did you mean '--temp'"), std::string::npos) << r.err;
  EXPECT_EQ(shell("quern logits").code, 2);
  EXPECT_EQ(shell("quern run x --temp abc").code, 2);
}

TEST(Cli, EveryVerbHasHelp) {
  for (const char* verb : {"run", "info", "new", "quantize", "logits", "tokenize", "detokenize", "tokenizer", "demo",
                           "bench", "paper", "doctor"}) {
    Ran r = shell(std::string("quern ") + verb + " --help");
    EXPECT_EQ(r.code, 0) << verb;
    EXPECT_NE(r.out.find(std::string("usage: quern ") + verb), std::string::npos) << r.out;
  }
}

TEST(Cli, FailuresExitWithOneAndNameWhatIsWrong) {
  Ran r = shell("quern info /nonexistent");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("/nonexistent"), std::string::npos);
}

TEST(Cli, IsaOverrideTakesEffect) {
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    Ran r = shell(std::string("QUERN_ISA=") + std::string(isa_name(isa)) + " quern doctor --json");
    if (isa > detected_isa()) {
      EXPECT_EQ(r.code, 1);
      continue;
    }
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(Json::parse(r.out).at("isa_active").as_string(), isa_name(isa));
  }
  Ran r = shell("QUERN_ISA=mmx quern doctor");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("expected ref, avx2 or avx512"), std::string::npos);
}

class MadeModel : public testing::TestWithParam<const char*> {};

TEST_P(MadeModel, GoesThroughEveryVerb) {
  ScratchFolder d;
  std::string m = d / "m";
  Ran r = shell(std::string("quern new --family ") + GetParam() + " --size tiny --seed 3 " + m);
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* f : {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                        "tokenizer_config.json", "chat_template.jinja"})
    EXPECT_TRUE(std::filesystem::exists(m + "/" + f)) << f;
  EXPECT_EQ(shell(std::string("quern new --family ") + GetParam() + " --size tiny " + m).code, 1)
      << "an existing model must not be overwritten";

  r = shell("quern info --json " + m);
  ASSERT_EQ(r.code, 0) << r.err;
  Json info = Json::parse(r.out);
  EXPECT_EQ(info.at("family").as_string(), GetParam());
  EXPECT_GT(info.at("parameters").as_int(), 10000);

  r = shell("quern tokenize " + m + " --no-special 'Ana had a red lamp. \xF0\x9F\x90\x88'");
  ASSERT_EQ(r.code, 0) << r.err;
  std::string ids = r.out.substr(0, r.out.size() - 1);
  EXPECT_EQ(shell("quern detokenize " + m + " " + ids).out, "Ana had a red lamp. \xF0\x9F\x90\x88\n");

  r = shell("quern logits " + m + " --tokens " + ids + " --out " + (d / "x.npy"));
  ASSERT_EQ(r.code, 0) << r.err;
  Tensor x = load_npy(d / "x.npy");
  EXPECT_EQ(x.dim(1), info.at("vocab_size").as_int());
  r = shell("quern logits " + m + " --dtype bf16 --tokens " + ids + " --out " + (d / "y.npy"));
  ASSERT_EQ(r.code, 0) << r.err;
  Tensor y = load_npy(d / "y.npy");
  for (int64_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x.item(i), y.item(i), 0.05);
  EXPECT_EQ(shell("quern logits " + m + " --tokens 1,99999999 --out " + (d / "z.npy")).code, 1);

  std::string run = "quern run " + m + " -p Once -n 12 --temp 1 --seed 5 --json";
  Ran a = shell(run), b = shell(run);
  ASSERT_EQ(a.code, 0) << a.err;
  Json ja = Json::parse(a.out), jb = Json::parse(b.out);
  EXPECT_EQ(ja.at("tokens"), jb.at("tokens"));
  EXPECT_EQ(ja.at("text"), jb.at("text"));
  EXPECT_LE(ja.at("tokens").as_array().size(), 12u);
  EXPECT_NE(Json::parse(shell("quern run " + m + " -p Once -n 12 --temp 1 --seed 6 --json").out).at("tokens"),
            ja.at("tokens"));

  r = shell("printf 'hello\\n/new\\nhello again\\n' | quern run " + m + " -n 5");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(shell("quern run " + m + " -p x --top-p 7").code, 0);

  std::string q = d / "q", text = d / "text.txt";
  ASSERT_EQ(shell("printf 'Ana had a red lamp. The lamp was warm.' > " + text).code, 0);
  r = shell("quern quantize " + m + " " + q + " --scheme q4 --group 64 --calibration " + text + " --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_GT(Json::parse(r.out).at("matrices").as_array().size(), 3u);
  EXPECT_EQ(shell("quern quantize " + m + " " + q).code, 1) << "an existing folder must not be overwritten";
  EXPECT_EQ(shell("quern quantize " + m + " " + q + "2 --group 48").code, 2);
  r = shell("quern logits " + q + " --tokens " + ids + " --out " + (d / "q.npy"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(load_npy(d / "q.npy").shape(), x.shape());
  r = shell("quern run " + q + " -p Once -n 5 --json");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(shell("quern info " + q).code, 0);
}

INSTANTIATE_TEST_SUITE_P(Families, MadeModel, testing::Values("zaya", "llama", "zamba", "zamba2"));

TEST(Cli, PapersAreListed) {
  Ran r = shell(std::string("quern paper list --dir ") + QUERN_SOURCE_DIR + "/papers");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("cca/"), std::string::npos);
  EXPECT_NE(r.out.find("zaya1/"), std::string::npos);
  r = shell(std::string("quern paper run zaja1 --dir ") + QUERN_SOURCE_DIR + "/papers");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("did you mean 'zaya1'"), std::string::npos) << r.err;
}

TEST(Cli, TokenizerIsTrainedFromFiles) {
  ScratchFolder d;
  Ran r = shell("printf 'the cat sat on the mat, the cat sat\\n%.0s' $(seq 50) > " + (d / "t.txt") +
                "; quern tokenizer train " + (d / "t.txt") + " --out " + (d / "tok") + " --vocab 300");
  ASSERT_EQ(r.code, 0) << r.err;
  r = shell("quern tokenize " + (d / "tok") + " --no-special 'the cat sat'");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_LE(std::count(r.out.begin(), r.out.end(), ','), 2) << r.out;
}

}  // namespace
}  // namespace quern

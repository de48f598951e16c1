// The verbs from outside: exit codes, help, a model made, looked at, run and talked to; messages for mistakes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>

#include "quern/base/cpu.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/kernels/cpu/products.h"
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
  for (const char* verb : {"run",
                           "info",
                           "new",
                           "quantize",
                           "logits",
                           "tokenize",
                           "detokenize",
                           "tokenizer",
                           "data",
                           "demo",
                           "bench",
                           "paper",
                           "doctor",
                           "completion",
                           "serve",
                           "eval",
                           "export",
                           "plan",
                           "train",
                           "finetune",
                           "merge",
                           "study",
                           "research",
                           "reshape",
                           "report",
                           "corpus",
                           "recall",
                           "memory",
                           "ppl",
                           "research eprop",
                           "research ovq",
                           "research action-centric",
                           "research ovq mqar",
                           "corpus dedup"}) {
    Ran r = shell(std::string("quern ") + verb + " --help");
    EXPECT_EQ(r.code, 0) << verb;
    EXPECT_NE(r.out.find(std::string("usage: quern ") + verb), std::string::npos) << r.out;
  }
}

TEST(Cli, PlansAreForDescribedMachines) {
  const ScratchFolder folder;
  const std::string file = folder / "machine.toml";
  const auto plan = [&](const std::string& text, const std::string& flags) {
    write_file(file, text);
    return shell("quern plan --machine " + file + " " + flags);
  };
  const std::string machine = "product_tflops = 1\nmemory_gib = 8\nmemory_gbs = 40\n";
  const Ran r = plan(machine, "--days 1 --family llama --top 2 --json");
  ASSERT_EQ(r.code, 0) << r.out;
  const Json j = Json::parse(r.out);
  ASSERT_EQ(j.at("plans").as_array().size(), 2u);
  const Json& best = j.at("plans").as_array()[0];
  EXPECT_LE(best.at("days").as_double(), 1.001);
  EXPECT_LE(best.at("predicted_loss").as_double(), j.at("plans").as_array()[1].at("predicted_loss").as_double());
  EXPECT_EQ(best.at("config").at("hidden_size").as_int(), best.at("width").as_int());
  EXPECT_NE(plan(machine, "--days 1").out.find("step of the first"), std::string::npos);
  EXPECT_NE(plan(machine, "--days 1 --family lama").err.find("did you mean 'llama'"), std::string::npos);
  EXPECT_EQ(plan(machine, "--tokens 1e15 --days 1").code, 1);
  EXPECT_NE(plan("product_tflops = 1\n", "").err.find("memory_gbs are required"), std::string::npos);
}

TEST(Cli, VerbsThatLeadToOthersShowThemAndGuessWhatWasMeant) {
  for (const char* verb : {"data", "corpus", "recall", "memory", "research", "research eprop", "research ovq"}) {
    Ran r = shell(std::string("quern ") + verb);
    EXPECT_EQ(r.code, 2) << verb;
    EXPECT_NE(r.out.find(std::string("'quern ") + verb + " VERB --help' lists the flags"), std::string::npos)
        << r.out;
  }
  Ran r = shell("quern corpus dedpu x");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("quern corpus: unknown verb 'dedpu'; did you mean 'dedup'?"), std::string::npos) << r.err;
  r = shell("quern research ovq wxyz");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("quern research ovq: unknown verb 'wxyz', expected one of mqar, copy, order"),
            std::string::npos)
      << r.err;
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

TEST(Cli, Bf16ProductsCanBeChosen) {
  for (const char* name : {"fma", "vdpbf16", "amx", "emulated"}) {
    Ran r = shell(std::string("QUERN_BF16=") + name + " quern doctor --quick --json");
    if (!kernels::has_bf16_products(kernels::parse_bf16_products(name))) {
      EXPECT_EQ(r.code, 1);
      EXPECT_NE(r.err.find("this machine does not have that"), std::string::npos) << r.err;
      continue;
    }
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(Json::parse(r.out).at("bf16_products").as_string(), name);
  }
  Ran r = shell("QUERN_BF16=mmx quern doctor");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("expected fma, vdpbf16, amx or emulated"), std::string::npos);
  EXPECT_NE(shell("quern doctor --quick").out.find("bf16 products"), std::string::npos);
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

  r = shell("quern logits " + m + " --ids " + ids + " --out " + (d / "x.npy"));
  ASSERT_EQ(r.code, 0) << r.err;
  Tensor x = load_npy(d / "x.npy");
  EXPECT_EQ(x.dim(1), info.at("vocab_size").as_int());
  r = shell("quern logits " + m + " --dtype bf16 --ids " + ids + " --out " + (d / "y.npy"));
  ASSERT_EQ(r.code, 0) << r.err;
  Tensor y = load_npy(d / "y.npy");
  for (int64_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x.item(i), y.item(i), 0.05);
  EXPECT_EQ(shell("quern logits " + m + " --ids 1,99999999 --out " + (d / "z.npy")).code, 1);

  std::string run = "quern run " + m + " -p Once -n 12 --temp 1 --seed 5 --json";
  Ran a = shell(run), b = shell(run);
  ASSERT_EQ(a.code, 0) << a.err;
  Json ja = Json::parse(a.out), jb = Json::parse(b.out);
  EXPECT_EQ(ja.at("tokens"), jb.at("tokens"));
  EXPECT_EQ(ja.at("text"), jb.at("text"));
  EXPECT_LE(ja.at("tokens").as_array().size(), 12u);
  EXPECT_NE(Json::parse(shell("quern run " + m + " -p Once -n 12 --temp 1 --seed 6 --json").out).at("tokens"),
            ja.at("tokens"));

  r = shell("printf 'One.\\nTwo.' | quern run " + m + " -p - -n 5 --json");
  EXPECT_EQ(Json::parse(r.out).at("tokens"),
            Json::parse(shell("quern run " + m + " -p \"$(printf 'One.\\nTwo.')\" -n 5 --json").out).at("tokens"));
  EXPECT_EQ(Json::parse(shell("echo One. | quern run " + m + " -p - -n 5 --json").out).at("prompt_tokens"),
            Json::parse(shell("quern run " + m + " -p One. -n 5 --json").out).at("prompt_tokens"));
  EXPECT_EQ(shell("quern run x -p - --shard-context < /dev/null").code, 2);
  EXPECT_NE(shell("quern run 'What is 3 + 4?'").err.find("give a question with -p"), std::string::npos);
  EXPECT_NE(shell("quern serve " + m + " --port 0 --api-key ''").err.find("the key is empty"), std::string::npos);
  r = shell("printf 'hello\\n/new\\nhello again\\n' | quern run " + m + " -n 5");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(shell("printf '/noo\\n' | quern run " + m + " -n 5").err.find("there is no command /noo"),
            std::string::npos);
  EXPECT_NE(shell("quern run " + m + " -p x --top-p 7").code, 0);

  std::string q = d / "q", text = d / "text.txt";
  ASSERT_EQ(shell("printf 'Ana had a red lamp. The lamp was warm.' > " + text).code, 0);
  r = shell("quern quantize " + m + " " + q + " --quant q4 --group 64 --calibration " + text + " --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_GT(Json::parse(r.out).at("matrices").as_array().size(), 3u);
  EXPECT_EQ(shell("quern quantize " + m + " " + q).code, 1) << "an existing folder must not be overwritten";
  EXPECT_EQ(shell("quern quantize " + m + " " + q + "2 --group 48").code, 2);
  r = shell("quern logits " + q + " --ids " + ids + " --out " + (d / "q.npy"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(load_npy(d / "q.npy").shape(), x.shape());
  r = shell("quern run " + q + " -p Once -n 5 --json");
  EXPECT_EQ(r.code, 0) << r.err;
  const Json packed = Json::parse(shell("quern info --json " + q).out);
  EXPECT_EQ(packed.at("scheme").as_string(), "q4, groups of 64");
  EXPECT_EQ(packed.at("head_scheme").as_string(), "q8");
  r = shell("quern bench model " + q + " --skip-prefill --depth 4 --reps 1 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("scheme").as_string(), "q4");
  r = shell("quern bench speculative " + q + " --depth 4 --batch 3 --reps 1 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("rows").as_array()[0].at("rows").as_int(), 3);
  EXPECT_GT(Json::parse(r.out).at("answers").as_array()[0].at("accepted").as_int(), 0);

  const std::string mixed = d / "mixed";
  r = shell("quern quantize " + m + " " + mixed + " --quant q4 --max-bits 7 --sensitivity " + text + " --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json report = Json::parse(r.out);
  EXPECT_LE(report.at("bits_per_weight").as_double(), 7);
  std::set<std::string> formats;
  for (const Json& g : report.at("groups").as_array()) {
    formats.insert(g.at("format").as_string());
    EXPECT_GE(g.at("kl").as_double(), -1e-6) << "but for rounding";
  }
  EXPECT_EQ(formats, (std::set<std::string>{"q4", "q8"}));
  const Json counts = Json::parse(shell("quern info --json " + mixed).out).at("matrices_by_format");
  EXPECT_GT(counts.at("q4, groups of 32").as_int(), 0);
  EXPECT_GT(counts.at("q8").as_int(), 1) << "more than the head";
  EXPECT_EQ(shell("quern run " + mixed + " -p Once -n 5 --json").code, 0);
  EXPECT_EQ(shell("quern quantize " + m + " " + mixed + "2 --max-bits 6").code, 2) << "q8 has nothing to raise";
  EXPECT_EQ(shell("quern quantize " + m + " " + mixed + "2 --quant q4 --sensitivity " + text).code, 2);
  r = shell("quern quantize " + m + " " + mixed + "2 --quant q4 --max-bits 3");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("allow more"), std::string::npos) << r.err;

  const std::string p = d / "p";  // packed as it is made, with a head longer than the tokenizer
  r = shell(std::string("quern new --size tiny --quant q4 --padded-vocab 640 --family ") + GetParam() + " " + p);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(shell("quern info --json " + p).out).at("vocab_size").as_int(), 640);
  EXPECT_EQ(shell("quern run " + p + " -p Once -n 5").code, 0);
  EXPECT_EQ(shell(std::string("quern new --size tiny --quant q4 --family ") + GetParam() + " " + p).code, 1);
}

INSTANTIATE_TEST_SUITE_P(Families, MadeModel, testing::Values("zaya", "llama", "zamba", "zamba2"));

TEST(Cli, BenchTestTimeComparesAPlanWithPlainBatches) {
  const Ran r = shell("quern bench test-time '" QUERN_SOURCE_DIR
                      "/models/zaya-nano' --plan mrsa:3x2x1,beta=24,tau=8 --reps 2 --json");
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("plan").as_string(), "mrsa:3x2x1");
  EXPECT_GT(j.at("tokens").as_int(), 2 * 6);
  EXPECT_LE(j.at("tokens").as_int(), 2 * 6 * 24);
  EXPECT_GT(j.at("longest_prompt").as_int(), 20);
  EXPECT_GT(j.at("overhead").as_double(), -1);  // a time beside a time
  EXPECT_EQ(shell("quern bench test-time").code, 2) << "DIR is missing";
}

TEST(Cli, ShardedContextAnswersTheSameForAnyNumberOfRanks) {
  const std::string run =
      "quern --threads 1 run '" QUERN_SOURCE_DIR
      "/models/zaya-nano' --dtype f32 --temp 0 -n 40 --json -p 'Mia has 3 red books and buys 14 more. "
      "How many books does Mia have now, and how many would she have if she gave half away?' ";
  Ran r = shell(run);
  ASSERT_EQ(r.code, 0) << r.err;
  const Json alone = Json::parse(r.out);
  ASSERT_GT(alone.at("tokens").as_array().size(), 10u);
  r = shell(run + "--shard-context");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("tokens"), alone.at("tokens"));
  EXPECT_EQ(shell("quern run x --shard-context").code, 2) << "a chat keeps a prefix cache";
  EXPECT_EQ(shell("quern run x -p y --shard-context --speculate ngram").code, 2)
      << "a sharded KV cache cannot be rolled back";
  if (shell("mpirun --version").code != 0) GTEST_SKIP() << "no mpirun here: tried with one rank only";
  for (int ranks : {2, 3}) {
    r =
        shell(fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                          "mpirun --oversubscribe -n {} {} --shard-context",
                          ranks, run));
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(Json::parse(r.out).at("tokens"), alone.at("tokens")) << ranks << " ranks, of which one speaks";
  }
}

TEST(Cli, AShippedModelIsFoundByNameInEveryVerb) {
  const ScratchFolder d;
  const std::string text = d / "text", logits = d / "logits.npy", packed = d / "packed";
  write_file(text, "Mia has 3 red books and buys 14 more.");
  for (const std::string& command :
       {std::string("info zaya-nano"), std::string("tokenize zaya-nano hello"),
        std::string("detokenize zaya-nano 5,6"), "ppl zaya-nano " + text + " --against zaya-nano",
        "logits zaya-nano --ids 1,2 --out " + logits, "quantize zaya-nano " + packed}) {
    const Ran r = shell("quern " + command);
    EXPECT_EQ(r.code, 0) << command << ": " << r.err;
  }
  EXPECT_EQ(shell("quern info no-such-nano").code, 1);
}

// Half the memory, nearly the same answers, and files that know which cache they came from.
TEST(Cli, AnAttentionCacheInEightBits) {
  ScratchFolder d;
  const std::string nano = "'" QUERN_SOURCE_DIR "/models/zaya-nano'";
  auto json = [](const std::string& command) {
    const Ran r = shell(command);
    EXPECT_EQ(r.code, 0) << command << r.err;
    return r.code == 0 ? Json::parse(r.out) : Json::object();
  };
  const Json info = json("quern info " + nano + " --json");
  const double bf16 = info.at("state_bytes_per_token").as_double(),
               q8 = info.at("state_bytes_per_token_q8").as_double();
  EXPECT_LT(q8, 0.57 * bf16);
  EXPECT_GT(q8, 0.5 * bf16) << "the scales count";

  const std::string run = "quern run " + nano +
                          " --temp 0 -n 12 --json -p 'Mia has 3 red books and buys 14 more. How many has she now?' "
                          "--response-prefix ' She has 17 books'";
  const Json wide = json(run), narrow = json(run + " --kv q8"), same = json(run + " --kv bf16");
  EXPECT_EQ(same.at("logprobs"), wide.at("logprobs"));
  EXPECT_NE(narrow.at("logprobs"), wide.at("logprobs")) << "or the flag does nothing";
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(narrow.at("logprobs").as_array().at(i).as_double(), wide.at("logprobs").as_array().at(i).as_double(),
                0.2);

  const std::string text = d / "text";
  write_file(text, std::string(QUERN_SOURCE_DIR) + " is where Mia keeps her books. She has read most of them twice.");
  const Json cost = json("quern ppl " + nano + " " + text + " --kv q8 --against " + nano + " --json");
  EXPECT_EQ(cost.at("kv").as_string(), "q8");
  EXPECT_GT(cost.at("kl").as_double(), 0);
  EXPECT_LT(cost.at("kl").as_double(), 0.01);

  const std::string chat = "echo 'How are you?' | quern run " + nano + " --temp 0 -n 8 --chat-file " + (d / "chat");
  ASSERT_EQ(shell(chat + " --kv q8").code, 0);
  const Ran refused = shell(chat);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("saved with KV cache type q8, but this model runs with bf16"), std::string::npos)
      << refused.err;
  const Ran goes_on = shell(chat + " --kv q8");
  EXPECT_EQ(goes_on.code, 0);
  EXPECT_NE(goes_on.err.find(" tokens"), std::string::npos) << goes_on.err;

  for (const std::string& command :
       {"quern run " + nano + " -p x --kv q4", "quern serve " + nano + " --kv q4", "quern ppl " + nano + " x --kv q4",
        std::string("quern bench model --shape zaya-tiny --kv q4"),
        std::string("quern bench prefix --shape zaya-tiny --kv q4")}) {
    const Ran r = shell(command);
    EXPECT_EQ(r.code, 2) << command;
    EXPECT_NE(r.err.find("--kv 'q4', expected bf16, q8 or f32"), std::string::npos) << command << r.err;
  }
  EXPECT_EQ(shell("quern bench prefix --shape zaya-tiny --kv q8 --kv bf16").code, 2);
  const Json bench =
      json("quern bench batch --shape llama-tiny --batch 2 --depth 64 --reps 1 --kv bf16 --kv q8 --json");
  const std::vector<Json>& rows = bench.at("decode").as_array();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("kv").as_string(), "bf16");
  EXPECT_EQ(rows[1].at("kv").as_string(), "q8");
  EXPECT_LT(rows[1].at("bytes_per_token").as_double(), rows[0].at("bytes_per_token").as_double());
}

// What request.h offers, from the outside. A random model, greedy: what it says is known from a first run.
TEST(Cli, RunTakesEveryOptionOfARequest) {
  ScratchFolder d;
  const std::string m = d / "m", run = "quern run " + m + " --plain -p Once -n 12 --json --dtype f32 ";
  ASSERT_EQ(shell("quern new --family llama --size tiny --seed 3 " + m).code, 0);
  auto tokens = [&](const std::string& flags) {
    Ran r = shell(run + flags);
    EXPECT_EQ(r.code, 0) << flags << r.err;
    return r.code == 0 ? Json::parse(r.out) : Json::object();
  };
  const Json plain = tokens("");
  const int64_t first = plain.at("tokens").as_array().at(0).as_int();
  auto begins_with = [](const Json& j) { return j.at("tokens").as_array().at(0).as_int(); };
  EXPECT_NE(begins_with(tokens(fmt::format("--logit-bias {}=-100", first))), first);
  EXPECT_EQ(begins_with(tokens("--logit-bias 7=1e6 --logit-bias 8=1e5")), 7);
  // Under a penalty beyond any logit no token comes twice.
  for (const char* flags : {"--presence-penalty 1e6", "--frequency-penalty 1e6"}) {
    std::set<int64_t> seen;
    const Json answer = tokens(flags);
    for (const Json& t : answer.at("tokens").as_array()) EXPECT_TRUE(seen.insert(t.as_int()).second) << flags;
  }
  EXPECT_NE(tokens("--repetition-penalty 1e6").at("tokens"), plain.at("tokens"));
  // Without penalties in the order they do not count.
  EXPECT_EQ(tokens("--presence-penalty 1e6 --order temperature,top_k").at("tokens"), plain.at("tokens"));

  // Next to no deviation leaves the likeliest alone; repeated words lose to anything else.
  EXPECT_EQ(tokens("--temp 1 --seed 2 --top-n-sigma 1e-6").at("tokens"), plain.at("tokens"));
  EXPECT_NE(tokens("--presence-penalty -50 --dry-multiplier 1e4 --dry-allowed-length 1").at("tokens"),
            tokens("--presence-penalty -50").at("tokens"));

  // An answer that repeats itself is guessed, and stays what it was.
  const Json repeats = tokens("--presence-penalty -1e6"),
             guessed = tokens("--presence-penalty -1e6 --speculate ngram:4");
  EXPECT_EQ(guessed.at("tokens"), repeats.at("tokens"));
  EXPECT_GT(guessed.at("accepted").as_int(), 0);
  EXPECT_GE(guessed.at("drafted").as_int(), guessed.at("accepted").as_int());
  EXPECT_FALSE(repeats.find("drafted"));

  const std::string text = plain.at("text").as_string();
  const Json answered = tokens("--response-prefix ' upon' --logprobs 3");
  EXPECT_EQ(answered.at("text").as_string().substr(0, 5), " upon");
  EXPECT_EQ(answered.at("top_logprobs").as_array().size(), answered.at("tokens").as_array().size());
  EXPECT_EQ(answered.at("top_logprobs").as_array().at(0).as_array().size(), 3u);
  const Json stopped = tokens("--response-prefix ' upon a time' --stop nothing --stop 'n a'");
  EXPECT_EQ(stopped.at("text").as_string(), " upo");
  EXPECT_EQ(stopped.at("finish").as_string(), "stop");

  for (const char* flags : {"--logit-bias 7", "--logit-bias 7=x", "--logit-bias -1=2", "--logit-bias 7=1x",
                            "--order temperature,heat", "--order top_k,top_k", "--presence-penalty much"})
    EXPECT_EQ(shell(run + flags).code, 2) << flags;
  for (const char* flags : {"--repetition-penalty 0", "--logprobs -1", "--frequency-penalty inf", "--dry-base 0.5",
                            "--top-n-sigma nan", "--speculate ngram:17", "--speculate draft"})
    EXPECT_EQ(shell(run + flags).code, 1) << flags;
  EXPECT_EQ(shell("quern run " + m + " --response-prefix x").code, 2);
  EXPECT_EQ(shell("quern run " + m + " -p x --logprobs 2").code, 2);

  // generation_config.json may name a repetition penalty; the flag wins.
  ASSERT_EQ(shell("sed -i 's/{/{\"repetition_penalty\": 1e6,/' " + m + "/generation_config.json").code, 0);
  EXPECT_EQ(tokens("").at("tokens"), tokens("--repetition-penalty 1e6").at("tokens"));
  EXPECT_EQ(tokens("--repetition-penalty 1").at("tokens"), plain.at("tokens"));
}

TEST(Cli, AGgufFileIsAModel) {
  ScratchFolder d;
  const std::string file = std::string(QUERN_SOURCE_DIR) + "/tests/goldens/gguf-models/llama-gqa-q8.gguf";
  Ran r = shell("quern info --json " + file);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("elements_by_type").at("Q8_0").as_int(), 18432);
  r = shell("quern logits " + file + " --ids 1,2,3 --out " + (d / "x.npy"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(load_npy(d / "x.npy").dim(0), 3);
  r = shell("quern run " + file + " -p x");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("tokenizer"), std::string::npos) << r.err;
  ASSERT_EQ(shell("quern quantize " + file + " " + (d / "q")).code, 0);
  EXPECT_EQ(shell("quern logits " + (d / "q") + " --ids 1,2,3 --out " + (d / "y.npy")).code, 0);
  r = shell("quern info " + std::string(QUERN_SOURCE_DIR) + "/README.md");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("not a GGUF file"), std::string::npos) << r.err;
}

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

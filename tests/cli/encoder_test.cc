// Encoders from outside: quern embed, a column of scores in a corpus, and hybrid retrieval.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/tensor/tensor.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

std::string model(const char* name) { return fmt::format("{}/quern/encoders/testdata/{}", QUERN_SOURCE_DIR, name); }

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(Json::parse(line));
  return out;
}

TEST(CliEncoder, EmbedPrintsOrWritesRows) {
  ScratchFolder d;
  write_file(d / "texts", "The mill grinds the grain.\nnaïve\n");
  Ran r = shell(fmt::format("quern embed {} {}", model("bert-mean"), d / "texts"));
  ASSERT_EQ(r.code, 0) << r.err;
  const std::vector<Json> printed = lines_of(r.out);
  ASSERT_EQ(printed.size(), 2u);
  r = shell(fmt::format("quern embed {} - --out {} < {}", model("bert-mean"), d / "rows.npy", d / "texts"));
  ASSERT_EQ(r.code, 0) << r.err;
  const Tensor rows = load_npy(d / "rows.npy");
  ASSERT_EQ(rows.shape(), (Shape{2, 32}));
  for (int64_t i = 0; i < 2; ++i) {
    double square = 0;
    for (int64_t k = 0; k < 32; ++k) {
      const double x = rows.item(i * 32 + k);
      EXPECT_NEAR(printed[static_cast<size_t>(i)].as_array()[static_cast<size_t>(k)].as_double(), x, 1e-6);
      square += x * x;
    }
    EXPECT_NEAR(square, 1, 1e-5);
  }
  r = shell(fmt::format("printf '\"a\\\\nb\"\\n{{\"text\": \"c\"}}\\n' | quern embed {} --jsonl --encoder-quant q8a8",
                        model("bert-mean")));
  EXPECT_EQ(lines_of(r.out).size(), 2u) << r.err;
}

TEST(CliEncoder, InfoDoctorAndExportKnowEncoders) {
  const std::string rerank = model("bert-rerank");
  Ran r = shell("quern info --json " + rerank);
  ASSERT_EQ(r.code, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_EQ(j.at("kind"), Json("encoder"));
  EXPECT_EQ(j.at("width").as_int(), 32);
  EXPECT_EQ(j.at("labels").as_int(), 1);
  EXPECT_NE(shell("quern info " + rerank).out.find("a reranker"), std::string::npos);
  EXPECT_NE(shell("quern info " + model("bert-mean")).out.find("none: embeddings"), std::string::npos);
  const Json d = Json::parse(shell("quern doctor --quick --json " + rerank).out).at("model");
  EXPECT_EQ(d.at("kind"), Json("encoder"));
  EXPECT_EQ(d.at("formats").as_array().size(), 4u);
  EXPECT_EQ(d.at("formats").as_array()[0].at("weight_bytes").as_int(), 4 * j.at("parameters").as_int());
  r = shell("quern export " + rerank + " /nowhere");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("needs no export"), std::string::npos) << r.err;
}

TEST(CliEncoder, EmbedScoresTextsAndPairs) {
  Ran r = shell(fmt::format("printf 'the mill\\nthe oven\\n' | quern embed {} --scores", model("deberta-v3")));
  ASSERT_EQ(r.code, 0) << r.err;
  for (const Json& line : lines_of(r.out)) {
    double sum = 0;
    for (const auto& [label, p] : line.as_object()) sum += p.as_double();
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_EQ(line.as_object().size(), 3u);
  }
  r = shell(fmt::format("printf 'mill\\tthe mill\\nmill\\toven\\n' | quern embed {} --scores", model("bert-rerank")));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(lines_of(r.out).size(), 2u);
  r = shell(fmt::format("printf 'mill\\tthe mill\\noven\\n' | quern embed {} --scores", model("bert-rerank")));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("line 2 is a single text"), r.err.npos) << r.err;
  r = shell(fmt::format("echo a | quern embed {} --scores", model("bert-mean")));
  EXPECT_NE(r.err.find("no head for classification"), r.err.npos) << r.err;
  EXPECT_EQ(shell(fmt::format("echo a | quern embed {} --encoder-quant q3", model("bert-mean"))).code, 2);
  EXPECT_EQ(shell(fmt::format("echo a | quern embed {} --role poet", model("bert-mean"))).code, 2);
}

TEST(CliEncoder, CorpusScoreAddsAColumn) {
  ScratchFolder d;
  write_file(d / "in.jsonl", "{\"id\": 1, \"text\": \"the mill\"}\n{\"text\": \"the oven\", \"id\": 2}\n");
  const std::string score = fmt::format("quern corpus score {} --out - --model ", d / "in.jsonl");
  Ran r = shell(score + model("bert-rerank"));
  ASSERT_EQ(r.code, 0) << r.err;
  const std::vector<Json> one = lines_of(r.out);
  ASSERT_EQ(one.size(), 2u);
  EXPECT_EQ(one[1].at("id").as_int(), 2);
  EXPECT_EQ(one[0].at("text").as_string(), "the mill");
  EXPECT_GT(one[0].at("score").as_double(), 0);
  r = shell(score + model("deberta-v3") + " --column quality");
  const double second = lines_of(r.out)[0].at("quality").at("LABEL_1").as_double();
  r = shell(score + model("deberta-v3") + " --label LABEL_1 --column quality");
  EXPECT_EQ(lines_of(r.out)[0].at("quality").as_double(), second);
  EXPECT_EQ(shell(score + model("deberta-v3") + " --label good").code, 2);
  r = shell(score + model("deberta-v3") + " --column id");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("column 'id': documents have a member of this name"), r.err.npos) << r.err;
}

TEST(CliEncoder, CorpusScoreKeepsFilesThatAreThere) {
  ScratchFolder d;
  write_file(d / "in.jsonl", "{\"id\": 1, \"text\": \"the mill\"}\n");
  write_file(d / "out.jsonl", "mine\n");
  const auto score = [&](const std::string& words) {
    return shell(
        fmt::format("cd {} && quern corpus score in.jsonl --model {} {}", d / "", model("bert-rerank"), words));
  };
  Ran r = score("--out out.jsonl");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("out.jsonl: the file exists; --overwrite replaces it"), r.err.npos) << r.err;
  EXPECT_EQ(read_file(d / "out.jsonl"), "mine\n");
  r = score("--out ./in.jsonl --overwrite");
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("is one of the inputs"), r.err.npos) << r.err;
  EXPECT_EQ(score("--out out.jsonl --overwrite").code, 0);
  EXPECT_EQ(lines_of(read_file(d / "out.jsonl")).size(), 1u);
  // In the place of a run of tasks, and tasks in the place of that.
  ASSERT_EQ(score("--out two.jsonl --tasks 2").code, 0);
  const std::string run = fmt::format("cd {} && quern corpus run two.jsonl.plan.json", d / "");
  ASSERT_EQ(shell(run).code, 0);
  ASSERT_EQ(score("--out two.jsonl --tasks 1 --overwrite").code, 0);
  ASSERT_EQ(shell(run).code, 0);
  EXPECT_EQ(read_file(d / "two.jsonl"), read_file(d / "out.jsonl"));
  EXPECT_EQ(score("--out two.jsonl --overwrite").code, 0);
  EXPECT_FALSE(std::filesystem::exists(d / "two.jsonl.json"));
}

TEST(CliEncoder, CorpusScoreAsTasksHasTheSameBytes) {
  ScratchFolder d;
  const std::string in = d / "in";
  ASSERT_EQ(shell("mkdir " + in).code, 0);
  for (const char* file : {"a", "b", "c"}) {  // more than a block each; the documents are longer than the model reads
    std::string lines;
    for (int i = 0; lines.size() < (size_t{17} << 18); ++i) {
      std::string text = fmt::format("{} {}", file, i);
      while (text.size() < 40000 + static_cast<size_t>(i) * 100) text += " the mill and the oven";
      lines += fmt::format("{{\"id\":\"{}{}\",\"text\":\"{}\"}}\n", file, i, text);
    }
    write_file(in + "/" + file + ".jsonl", lines);
  }
  const std::string score =
      fmt::format("cd {} && quern corpus score in/*.jsonl --model {} --column q", d / "", model("deberta-v3"));
  Ran r = shell(score + " --out one.jsonl");
  ASSERT_EQ(r.code, 0) << r.err;
  r = shell(score + " --out many.jsonl --tasks 3");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("many.jsonl.plan.json: 7 tasks in 3 stages, 3 files in 3 shards"), r.out.npos) << r.out;
  const std::string at = fmt::format("cd {} && ", d / "");
  r = shell(at + "quern corpus run many.jsonl.plan.json -j 2");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("documents scored"), r.out.npos) << r.out;
  EXPECT_EQ(shell(at + "cmp one.jsonl many.jsonl && ! ls -d *.unfinished").code, 0);
  const Json m = Json::read(d / "many.jsonl.json");
  EXPECT_EQ(static_cast<size_t>(m.at("documents").as_int()), lines_of(shell(at + "cat one.jsonl").out).size());
  EXPECT_NE(shell(score + " --out many.jsonl --tasks 3").err.find("exists: name another"), std::string::npos);
  EXPECT_EQ(shell(score + " --out - --tasks 3").code, 2);
  EXPECT_EQ(shell(score + " --out x.jsonl --tasks 0").code, 2);
  EXPECT_EQ(shell(score + " --out x.jsonl --plan p.json").code, 2);
}

TEST(CliEncoder, RecallIsHybrid) {
  ScratchFolder d;
  ASSERT_EQ(shell(fmt::format("mkdir {}", d / "docs")).code, 0);
  write_file(d / "docs/a.md", "Mara took the lantern to the mill.");
  write_file(d / "docs/b.md", "Bread is baked in the oven.");
  const std::string with = fmt::format(" --db {} --encoder {}", d / "db", model("bert-mean"));
  Ran r = shell(fmt::format("quern recall index {}{}", d / "docs", with));
  ASSERT_EQ(r.code, 0) << r.err;
  r = shell("quern recall query zzz --json" + with);  // in no text: only vectors find something
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out).at("chunks").as_array().size(), 2u);
  r = shell("quern recall query 'Bread is baked in the oven.' -k 1 --json" + with);
  EXPECT_TRUE(Json::parse(r.out).at("chunks").as_array()[0].at("path").as_string().ends_with("b.md"));
  r = shell(fmt::format("quern recall query zzz --db {} --json", d / "db"));
  EXPECT_EQ(Json::parse(r.out).at("fallback").as_string(), "none");
  EXPECT_NE(r.err.find("this index has vectors"), r.err.npos) << r.err;
  r = shell(fmt::format("quern recall query a --db {} --encoder {}", d / "db", model("modernbert-cls")));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("fingerprint"), r.err.npos) << r.err;
}

}  // namespace
}  // namespace quern

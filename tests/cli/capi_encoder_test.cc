// Encoders through the C interface, against what transformers and sentence-transformers say (tools/oracles/encoders), and
// the index that searches with one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <quern.h>

#include <cmath>

#include "quern/base/json.h"
#include "quern/tensor/safetensors.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

std::string folder(const char* name) { return fmt::format("{}/quern/encoders/testdata/{}", QUERN_SOURCE_DIR, name); }

struct Joined {
  std::string bytes;
  std::vector<int64_t> ends;
  void add(const std::string& text) { bytes += text, ends.push_back(static_cast<int64_t>(bytes.size())); }
};

struct GoldenTexts {
  Joined texts, pairs;
  int64_t n = 0, n_pairs = 0;
  GoldenTexts() {
    const Json j = Json::read(folder("texts.json"));
    for (const Json& t : j.at("texts").as_array()) texts.add(t.as_string()), ++n;
    for (const Json& p : j.at("pairs").as_array())
      pairs.add(p.as_array()[0].as_string()), pairs.add(p.as_array()[1].as_string()), ++n_pairs;
  }
};

Tensor expected(const char* name, const char* what) {
  return SafetensorsFile(folder(name) + "/expected.safetensors").tensor(what).to(DType::f32);
}

double worst(std::span<const float> got, const Tensor& want, int64_t from) {
  double error = 0, top = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double w = want.item(from + static_cast<int64_t>(i));
    error = std::max(error, std::abs(static_cast<double>(got[i]) - w)), top = std::max(top, std::abs(w));
  }
  return error / top;
}

TEST(CApiEncoder, EmbeddingsAreThoseOfTheReference) {
  const GoldenTexts t;
  for (const char* name : {"bert-mean", "bert-cased-max", "deberta-v2", "modernbert-cls"}) {
    quern_encoder* e = quern_encoder_load(folder(name).c_str(), nullptr);
    ASSERT_NE(e, nullptr) << quern_last_error();
    const int64_t size = quern_encoder_embed(e, t.texts.bytes.data(), t.texts.ends.data(), t.n, nullptr, nullptr, 0);
    std::vector<float> rows(static_cast<size_t>(size));
    EXPECT_EQ(quern_encoder_embed(e, t.texts.bytes.data(), t.texts.ends.data(), t.n, nullptr, rows.data(), size),
              size)
        << quern_last_error();
    const Tensor want = expected(name, "embeddings");
    ASSERT_EQ(want.size(), size);
    EXPECT_LE(worst(rows, want, 0), 2e-5) << name;
    EXPECT_GT(quern_encoder_truncated(e), 0);
    EXPECT_EQ(quern_encoder_score(e, t.texts.bytes.data(), t.texts.ends.data(), t.n, rows.data(), size), -1);
    EXPECT_NE(std::string(quern_last_error()).find("no head"), std::string::npos) << quern_last_error();
    quern_encoder_free(e);
  }
}

TEST(CApiEncoder, ScoresAreThoseOfTheReference) {
  const GoldenTexts t;
  for (const char* name : {"bert-rerank", "deberta-v3", "modernbert-labels"}) {
    quern_encoder* e = quern_encoder_load(folder(name).c_str(), "f32");
    ASSERT_NE(e, nullptr) << quern_last_error();
    const Tensor want = expected(name, "scores");
    std::string info(1 << 12, '\0');
    ASSERT_GT(quern_encoder_info(e, info.data(), static_cast<int64_t>(info.size())), 0);
    EXPECT_EQ(static_cast<int64_t>(Json::parse(info.c_str()).at("labels").as_array().size()), want.dim(1));
    std::vector<float> scores(static_cast<size_t>(t.n * want.dim(1)));
    const auto room = static_cast<int64_t>(scores.size());
    EXPECT_EQ(quern_encoder_score(e, t.texts.bytes.data(), t.texts.ends.data(), t.n, scores.data(), room), room);
    EXPECT_LE(worst(scores, want, 0), 2e-5) << name;
    std::vector<float> of_pairs(static_cast<size_t>(t.n_pairs * want.dim(1)));
    EXPECT_EQ(quern_encoder_score_pairs(e, t.pairs.bytes.data(), t.pairs.ends.data(), t.n_pairs, of_pairs.data(),
                                        static_cast<int64_t>(of_pairs.size())),
              static_cast<int64_t>(of_pairs.size()));
    EXPECT_LE(worst(of_pairs, want, room), 2e-5) << name;
    quern_encoder_free(e);
  }
}

TEST(CApiEncoder, TheWordEncoderThatShipsHasAName) {
  quern_encoder* e = quern_encoder_load("words", nullptr);
  ASSERT_NE(e, nullptr) << quern_last_error();
  const int64_t ends[] = {3, 13};
  std::vector<float> rows(2 * 96);
  ASSERT_EQ(quern_encoder_embed(e, "carautomobile", ends, 2, nullptr, rows.data(), 192), 192) << quern_last_error();
  float cosine = 0;
  for (size_t k = 0; k < 96; ++k) cosine += rows[k] * rows[96 + k];
  EXPECT_GT(cosine, 0.35f);
  EXPECT_EQ(quern_encoder_score(e, "car", ends, 1, nullptr, 0), -1) << "it has no head";
  quern_encoder_free(e);
}

TEST(CApiEncoder, SaysWhatIsWrong) {
  EXPECT_EQ(quern_encoder_load(folder("nosuch").c_str(), nullptr), nullptr);
  EXPECT_NE(std::string(quern_last_error()).find("no folder of an encoder"), std::string::npos);
  EXPECT_EQ(quern_encoder_load(folder("bert-mean").c_str(), "q5"), nullptr);
  quern_encoder* e = quern_encoder_load(folder("bert-mean").c_str(), nullptr);
  ASSERT_NE(e, nullptr);
  const int64_t ends[] = {2, 1};
  EXPECT_EQ(quern_encoder_embed(e, "ab", ends, 2, nullptr, nullptr, 0), -1);
  EXPECT_EQ(quern_encoder_embed(e, "ab", ends, 1, "querry", nullptr, 0), -1);
  EXPECT_NE(std::string(quern_last_error()).find("plain, query or document"), std::string::npos);
  EXPECT_EQ(quern_encoder_embed(e, "ab", ends, -1, nullptr, nullptr, 0), -1);
  EXPECT_EQ(quern_encoder_embed(nullptr, "ab", ends, 1, nullptr, nullptr, 0), -1);
  quern_encoder_free(e);
}

TEST(CApiEncoder, AnIndexSearchesWithOne) {
  const ScratchFolder scratch;
  quern_index* index = quern_index_open((scratch / "index").c_str());
  ASSERT_EQ(quern_index_encoder(index, folder("bert-mean").c_str(), nullptr), 0) << quern_last_error();
  Joined names, texts;
  for (const char* name : {"mill", "sea", "mill", "rye"}) names.add(name);
  for (const char* text : {"Nothing.", "Waves break on the beach.", "The mill stands still.", "Rye ripens in July."})
    texts.add(text);
  ASSERT_EQ(
      quern_index_put_all(index, names.bytes.data(), names.ends.data(), texts.bytes.data(), texts.ends.data(), 4), 0)
      << quern_last_error();
  std::string buffer(1 << 16, '\0');
  const auto found = [&](const char* question) {
    EXPECT_GT(quern_index_search(index, question, 9, buffer.data(), static_cast<int64_t>(buffer.size())), 0);
    std::string out;
    const Json said = Json::parse(buffer.c_str());
    for (const Json& c : said.at("chunks").as_array()) out += c.at("path").as_string() + " ";
    return out;
  };
  EXPECT_EQ(found("When does the mill stand still?").substr(0, 5), "mill ");
  EXPECT_EQ(found("Nothing").find("Nothing."), std::string::npos);  // of two of one name the later one stays
  EXPECT_EQ(quern_index_remove(index, R"(["sea", "nosuch"])"), -1);
  EXPECT_EQ(quern_index_remove(index, R"(["sea"])"), 1) << quern_last_error();
  EXPECT_EQ(found("Waves on the beach").find("sea"), std::string::npos);
  quern_index_free(index);

  index = quern_index_open((scratch / "index").c_str());
  EXPECT_EQ(quern_index_encoder(index, folder("modernbert-cls").c_str(), nullptr), -1);
  EXPECT_EQ(quern_index_encoder(index, folder("bert-mean").c_str(), "q8"), 0) << quern_last_error();
  quern_index_free(index);
}

TEST(CApiMemory, TurnsAreListedAndForgotten) {
  const ScratchFolder scratch;
  quern_memory* memory = quern_memory_open((scratch / "talks.db").c_str(), "kitchen", "Europe/Berlin");
  ASSERT_NE(memory, nullptr) << quern_last_error();
  const int64_t monday = 1683547200;  // 2023-05-08 12:00 UTC
  std::vector<int64_t> numbers;
  for (int i = 0; i < 5; ++i)
    numbers.push_back(quern_memory_add(memory, "Ada", fmt::format("Turn {}", i).c_str(), monday + i));
  std::string buffer(1 << 16, '\0');
  const auto turns = [&](int64_t first, int64_t limit) {
    EXPECT_GT(quern_memory_turns(memory, first, limit, buffer.data(), static_cast<int64_t>(buffer.size())), 0);
    std::string out;
    const Json said = Json::parse(buffer.c_str());
    for (const Json& t : said.at("turns").as_array()) out += t.at("text").as_string() + ";";
    return out;
  };
  EXPECT_EQ(turns(0, 100), "Turn 0;Turn 1;Turn 2;Turn 3;Turn 4;");
  EXPECT_EQ(turns(numbers[1], 2), "Turn 1;Turn 2;");
  EXPECT_EQ(turns(numbers[4] + 1, 2), "");
  EXPECT_EQ(turns(0, 0), "");
  const int64_t gone[] = {numbers[1], numbers[3]};
  EXPECT_EQ(quern_memory_forget(memory, gone, 2), 2) << quern_last_error();
  EXPECT_EQ(turns(0, 100), "Turn 0;Turn 2;Turn 4;");
  EXPECT_EQ(turns(0, 2), "Turn 0;Turn 2;");
  const int64_t huge[] = {numbers[0] + (int64_t{1} << 32)};  // whose lower half is a turn
  EXPECT_EQ(quern_memory_forget(memory, huge, 1), -1);
  EXPECT_EQ(turns(0, 2), "Turn 0;Turn 2;");
  // The lines are those of the command.
  std::string lines;
  const Json first_two = Json::parse(buffer.c_str());
  for (const Json& t : first_two.at("turns").as_array()) lines += t.dump() + "\n";
  quern_memory_free(memory);
  const Ran r = shell("quern memory export --db " + (scratch / "talks.db"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out.substr(0, lines.size()), lines);
  EXPECT_NE(lines.find("2023-05-08 14:00:00+02:00"), std::string::npos) << lines;
}

}  // namespace
}  // namespace quern

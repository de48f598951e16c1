// The word encoder: its file, its vectors beside those of tools/oracles/encoders/words.py, and what training learns.
#include "quern/encoders/words/word_encoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/json.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/encoders/words/shipped_words.h"
#include "quern/encoders/words/word_encoder_training.h"
#include "quern/encoders/words/word_vectors.h"

namespace quern::encoders {
namespace {

float cosine(const WordEncoder& e, const std::string& a, const std::string& b) {
  const std::string texts[] = {a, b};
  const Tensor rows = embed_texts(e, texts).rows;
  float sum = 0;
  for (int64_t k = 0; k < e.width(); ++k) sum += rows.data<float>()[k] * rows.data<float>()[e.width() + k];
  return sum;
}

WordEncoder small() {
  const float rows[] = {7, 0, 0, 0, /* boat */ 0, 7, 0, -7, /* river */ 0, 0, 3.5f, 0 /* stone */};
  return WordEncoder({"boat", "river", "stone"}, rows, 4);
}

TEST(WordEncoder, SumsTheDistinctWordsAndHasLengthOne) {
  const WordEncoder e = small();
  const std::string texts[] = {"The boats, a boat and the river!", "nothing of it", ""};
  const WordVectors v = embed_texts(e, texts);
  EXPECT_EQ(v.words, 2);
  const float length = std::sqrt(3 * 49.f);
  const float expected[] = {7 / length, 7 / length, 0, -7 / length};
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(v.rows.data<float>()[k], expected[k], 1e-6) << k;
  for (int k = 4; k < 12; ++k) EXPECT_EQ(v.rows.data<float>()[k], 0) << k;
}

TEST(WordEncoder, WordsByTheDirectionOfTheirRows) {
  const WordEncoder e = small();
  const float boat[] = {1, 0, 0, 0}, stone[] = {0, 0.1f, 1, 0};
  EXPECT_EQ(e.nearest(boat, 1), (std::vector<uint32_t>{0}));
  EXPECT_EQ(e.nearest(stone, 2), (std::vector<uint32_t>{2, 1}));  // the river's row is longer
  EXPECT_EQ(e.nearest(stone, 9).size(), 3u);
  const WordEncoder& words = shipped_words();  // whose width is no small power of two
  std::vector<float> car(static_cast<size_t>(words.width()));
  WordEncoder::Reader reader;
  words.embed("car", reader, car);
  double before = 1;
  for (const uint32_t row : words.nearest(car, 20)) {
    const std::string& word = words.word(row);
    const auto known = words.known_words(word, reader);
    if (known.size() != 1 || known[0] != row) continue;  // as a text this stem has another one
    const double now = double{cosine(words, "car", word)};
    EXPECT_LE(now, before + 1e-5) << word;
    before = now;
  }
  EXPECT_LT(before, 0.9);
  EXPECT_EQ(words.word(words.nearest(car, 1)[0]), "car");
}

TEST(WordEncoder, ItsFileIsReadAgainAndDamageIsSeen) {
  const WordEncoder e = small();
  const std::string bytes = e.bytes();
  const WordEncoder again = WordEncoder::parse(bytes, "f");
  EXPECT_EQ(again.bytes(), bytes);
  EXPECT_EQ(again.fingerprint(), e.fingerprint());
  EXPECT_EQ(again.word(1), "river");
  EXPECT_NE(message_of([&] { WordEncoder::parse("words", "f"); }).find("is not a word encoder"), std::string::npos);
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_NE(message_of([&] { WordEncoder::parse(bytes.substr(0, n), "f"); }), "") << n;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    EXPECT_NE(message_of([&] { WordEncoder::parse(damaged, "f"); }), "") << at;
  }
}

TEST(WordEncoder, TheShippedOneGivesTheVectorsOfTheOracle) {
  const Json golden = Json::read(std::string(QUERN_SOURCE_DIR) + "/quern/encoders/words/testdata/vectors.json");
  const WordEncoder& e = shipped_words();
  for (const Json& one : golden.as_array()) {
    const std::string text = one.at("text").as_string();
    const Tensor row = embed_texts(e, {&text, 1}).rows;
    const auto& expected = one.at("vector").as_array();
    ASSERT_EQ(static_cast<int64_t>(expected.size()), e.width());
    for (int64_t k = 0; k < e.width(); ++k)
      EXPECT_NEAR(row.data<float>()[k], expected[static_cast<size_t>(k)].as_double(), 1e-5) << text << ", " << k;
  }
}

TEST(WordEncoder, TheShippedOneKnowsWhatIsAlike) {
  const WordEncoder& e = shipped_words();
  EXPECT_GT(cosine(e, "purchase a car", "buy an automobile"), cosine(e, "purchase a car", "close the window"));
  EXPECT_GT(cosine(e, "remove a file", "delete documents"), cosine(e, "remove a file", "print a page"));
}

// Pairs in which words of two groups stand for each other.
WordEncoderTrainer trainer(uint64_t seed) {
  WordEncoderTrainer t({.rows = 100, .width = 16, .batch = 32, .together = 8, .passes = 20, .seed = seed});
  Rng random(5);
  for (int i = 0; i < 640; ++i) {
    const auto topic = static_cast<char>('a' + random.below(20));
    t.add(fmt::format("qx{}one qx{}two", topic, topic), fmt::format("zu{}one noise", topic), i % 2 ? "x" : "y");
  }
  return t;
}

TEST(WordEncoderTraining, BringsPartnersTogetherAndRepeats) {
  double first = 0, last = 0;
  const WordEncoder e = trainer(1).train([&](const WordEncoderTrainer::Progress& p) {
    if (p.done == 1) first = p.loss;
    last = p.loss;
  });
  EXPECT_LT(last, 0.7 * first);
  for (char topic = 'a'; topic < 'a' + 20; ++topic) {
    const std::string question = fmt::format("qx{}one", topic), answer = fmt::format("zu{}one", topic);
    const std::string other = fmt::format("zu{}one", topic == 'a' ? 'b' : 'a');
    EXPECT_GT(cosine(e, question, answer), cosine(e, question, other)) << topic;
  }
  EXPECT_EQ(trainer(1).train().bytes(), e.bytes());
  EXPECT_NE(trainer(2).train().bytes(), e.bytes());
  WordEncoderTrainer few({.batch = 64});
  few.add("one boat", "two boats");
  EXPECT_NE(message_of([&] { few.train(); }).find("fewer than a batch"), std::string::npos);
}

}  // namespace
}  // namespace quern::encoders

// Hybrid retrieval: vectors follow their chunks through updates, merges and deletions, are encoded once, and belong to
// one encoder. The encoder here knows that some words mean the same.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "quern/base/error.h"
#include "quern/encoders/text_encoder.h"
#include "quern/encoders/words/shipped_words.h"
#include "quern/recall/store/store.h"

namespace quern::recall {
namespace {
namespace fs = std::filesystem;

class MeaningEncoder : public ChunkEncoder {
 public:
  explicit MeaningEncoder(std::string fingerprint = "meanings") : fingerprint_(std::move(fingerprint)) {}
  std::string fingerprint() const override { return fingerprint_; }
  std::string name() const override { return "a test's"; }
  int64_t width() const override { return 64; }
  Tensor chunks(std::span<const std::string> texts) const override {
    Tensor out = Tensor::zeros({static_cast<int64_t>(texts.size()), width()}, DType::f32);
    for (size_t i = 0; i < texts.size(); ++i) fill(texts[i], out.data<float>() + static_cast<int64_t>(i) * width());
    encoded += static_cast<int64_t>(texts.size());
    return out;
  }
  Tensor question(const std::string& text) const override {
    Tensor out = Tensor::zeros({1, width()}, DType::f32);
    fill(text, out.data<float>());
    return out;
  }
  mutable int64_t encoded = 0;

 private:
  void fill(const std::string& text, float* out) const {
    static const std::map<std::string, std::string, std::less<>> kSame = {
        {"automobile", "car"}, {"feline", "cat"}, {"physician", "doctor"}};
    for (const std::string& word : words_of(text)) {
      const auto same = kSame.find(word);
      out[word_key(same == kSame.end() ? word : same->second) % 61] += 1;
    }
    double square = 1e-9;
    for (int64_t i = 0; i < width(); ++i) square += static_cast<double>(out[i]) * static_cast<double>(out[i]);
    for (int64_t i = 0; i < width(); ++i) out[i] /= static_cast<float>(std::sqrt(square));
  }
  std::string fingerprint_;
};

class VectorStore : public testing::Test {
 protected:
  VectorStore() : folder(fs::path(testing::TempDir()) / "quern_vector_store") { fs::remove_all(folder); }
  ~VectorStore() override { fs::remove_all(folder); }
  RecallStore open(std::shared_ptr<const ChunkEncoder> e) const {
    RecallStore s = RecallStore::open_or_create(folder, {});
    if (e) s.use_encoder(std::move(e));
    return s;
  }
  static std::string first(const RecallAnswer& a) { return a.hits.empty() ? "" : a.hits[0].path; }
  static std::string refusal(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing";
  }
  fs::path folder;
  std::shared_ptr<MeaningEncoder> encoder = std::make_shared<MeaningEncoder>();
};

TEST_F(VectorStore, FindsWhatSharesNoWord) {
  RecallStore s = open(encoder);
  s.put("car", "The car stands in the yard.", {});
  s.put("cat", "A cat sleeps.", {});
  s.put("doctor", "The doctor visits on Monday.", {});
  EXPECT_EQ(first(s.fused("feline", 3)), "cat");
  EXPECT_EQ(first(s.fused("physician", 3)), "doctor");
  EXPECT_EQ(first(s.fused("yard", 3)), "car");  // words still count
  EXPECT_TRUE(open(nullptr).fused("feline", 3).hits.empty());
  EXPECT_TRUE(s.bm25("feline", 3).hits.empty());
}

TEST_F(VectorStore, EncodesEveryTextOnce) {
  RecallStore s = open(encoder);
  for (int i = 0; i < 20; ++i) s.put(fmt::format("d{}", i), fmt::format("document {} about x{}", i, i * 7), {});
  EXPECT_EQ(encoder->encoded, 20);
  s.put("d3", "now about an automobile", {});
  EXPECT_EQ(encoder->encoded, 21);
  s.remove({"d4"});
  s.index({}, {}, SegmentMerge::all);
  EXPECT_EQ(encoder->encoded, 21);
  EXPECT_EQ(first(open(encoder).fused("car", 1)), "d3");
  for (const auto& e : fs::directory_iterator(folder))  // one segment, and its vectors
    EXPECT_TRUE(e.path().extension() != ".qrv" || fs::exists(fs::path(e.path()).replace_extension(".qrs")));
}

TEST_F(VectorStore, GivesAnOldIndexVectors) {
  {
    RecallStore old = open(nullptr);
    old.use_words_alone();
    old.put("cat", "A cat sleeps.", {});
  }
  RecallStore s = open(encoder);
  EXPECT_EQ(s.made_by().width, 0);
  s.index({}, {});
  EXPECT_EQ(s.made_by().fingerprint, "meanings");
  EXPECT_EQ(first(s.fused("feline", 1)), "cat");
}

TEST_F(VectorStore, RefusesAnotherEncoder) {
  open(encoder).put("cat", "A cat sleeps.", {});
  const auto other = std::make_shared<MeaningEncoder>("others");
  EXPECT_NE(refusal([&] { open(other); }).find("fingerprint meanings"), std::string::npos);
  EXPECT_NE(refusal([&] { open(nullptr).put("dog", "A dog barks.", {}); }).find("name that encoder"),
            std::string::npos);
  EXPECT_EQ(open(nullptr).segments().size(), 1u);
  open(nullptr).remove({"cat"});  // needs none
  EXPECT_EQ(open(encoder).segments().size(), 0u);
}

TEST_F(VectorStore, RefusesDamagedVectors) {
  open(encoder).put("cat", "A cat sleeps.", {});
  for (const auto& e : fs::directory_iterator(folder)) {
    if (e.path().extension() != ".qrv") continue;
    std::string bytes = read_file(e.path());
    bytes.back() ^= 1;
    write_file(e.path(), bytes);
  }
  EXPECT_NE(refusal([&] { open(encoder); }).find("damaged"), std::string::npos);
}

// By a real folder.
TEST_F(VectorStore, ReadsAFolder) {
  const fs::path model = fs::path(QUERN_SOURCE_DIR) / "quern/encoders/testdata/bert-mean";
  RecallStore s = open(load_chunk_encoder(model, DType::f32));
  s.put("a", "grain and flour", {});
  s.put("b", "the river runs", {});
  const std::vector<std::string> text{"grain and flour"};
  const Tensor want = encoders::TextEncoder::load(model).embed(text).rows;
  const ChunkVectors v(folder / vector_file_of(s.stats().at("segments").as_array()[0].at("file").as_string()), 32);
  EXPECT_NEAR(v.cosines(want)[0], 1, 2e-2);
  EXPECT_EQ(first(s.fused("grain and flour", 1)), "a");
}

TEST_F(VectorStore, ANewIndexHasTheEncoderThatShips) {
  {
    RecallStore s = open(nullptr);
    s.put("car", "We bought an automobile in the spring.", {});
    s.put("cat", "A kitten sleeps on the sofa.", {});
    EXPECT_EQ(s.made_by().name, encoders::kShippedWords);
  }
  RecallStore s = open(nullptr);  // and has it when it is opened again
  EXPECT_TRUE(s.has_encoder());
  EXPECT_EQ(first(s.fused("vehicle", 3)), "car");
  EXPECT_TRUE(s.bm25("vehicle", 3).hits.empty());
  s.use_words_alone();
  EXPECT_TRUE(s.fused("vehicle", 3).hits.empty());
  EXPECT_TRUE(s.reopened().fused("vehicle", 3).hits.empty());
  EXPECT_NE(refusal([&] { s.use_encoder(encoder); }).find("its vectors are by words"), std::string::npos);
}

TEST_F(VectorStore, WordsAloneStayWordsAlone) {
  {
    RecallStore s = open(nullptr);
    s.use_words_alone();
    s.put("car", "We bought an automobile in the spring.", {});
  }
  RecallStore s = open(nullptr);
  s.put("cat", "A kitten sleeps on the sofa.", {});
  EXPECT_EQ(s.made_by().width, 0);
  EXPECT_TRUE(s.fused("vehicle", 3).hits.empty());
  fs::remove_all(folder);
  RecallOptions german;
  german.words.language = "german";
  RecallStore g = RecallStore::open_or_create(folder, german);
  g.put("a", "Der Wagen steht im Hof.", {});
  EXPECT_EQ(g.made_by().width, 0);
}

}  // namespace
}  // namespace quern::recall

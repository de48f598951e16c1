// fastText's models against fastText itself (testdata/fasttext, made by tools/oracles/corpus/fasttext_models.py), and
// the classifier of our own on texts that can and cannot be told apart.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/corpus/filters/fasttext.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/filters/linear_classifier.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = QUERN_SOURCE_DIR "/quern/corpus/filters/testdata/fasttext";

TEST(FastTextModel, GivesTheProbabilitiesOfFastText) {
  const Json expected = Json::read(kModels / "expected.json");
  int compared = 0;
  for (const char* name : {"soft.bin", "soft.ftz", "tree.bin", "ova.bin"}) {
    const FastText model = FastText::load(kModels / name);
    ASSERT_EQ(model.labels().size(), 3u);
    for (const Json& row : expected.as_array()) {
      const std::vector<float> p = model.predict(row.at("text").as_string());
      const Json::Object& want = row.at(name).as_object();
      ASSERT_EQ(p.size(), want.size()) << name << " " << row.at("text").dump();
      for (const auto& [label, value] : want) {
        const auto at = std::find(model.labels().begin(), model.labels().end(), label);
        ASSERT_NE(at, model.labels().end());
        // fastText takes logarithms of p + 1e-5.
        ASSERT_NEAR(p[static_cast<size_t>(at - model.labels().begin())], value.as_double(), 1e-4)
            << name << " " << label << " of " << row.at("text").dump();
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 150);
}

TEST(FastTextModel, DamageIsAnError) {
  std::mt19937 random(3);
  for (const char* name : {"soft.bin", "soft.ftz", "tree.bin"}) {
    const std::string whole = read_file(kModels / name);
    for (size_t n = 0; n < whole.size(); n += 331)
      EXPECT_THROW(FastText::from_bytes(whole.substr(0, n), name), Error);
    for (int trial = 0; trial < 200; ++trial) {
      std::string bytes = whole;
      for (int k = 0; k < 3; ++k) bytes[random() % (trial % 2 ? 200 : bytes.size())] = static_cast<char>(random());
      try {
        FastText::from_bytes(bytes, name).predict("some words to look up");
      } catch (const Error&) {
      }
    }
  }
  EXPECT_NE(message_of([] { FastText::from_bytes("no model", "x.bin"); }).find("x.bin is not a fastText model"),
            std::string::npos);
}

TEST(FastTextModel, IsAFilter) {
  const std::string model = (kModels / "soft.bin").string();
  const Json expected = Json::read(kModels / "expected.json");
  const auto f = find_filter("fasttext:" + model + ":en:0.5")();
  int kept = 0;
  for (const Json& row : expected.as_array()) {
    const double p = row.at("soft.bin").at("__label__en").as_double();
    if (std::fabs(p - 0.5) < 0.01) continue;
    const FilterResult j = f->apply(row.at("text").as_string());
    EXPECT_EQ(j.keep(), p >= 0.5) << row.at("text").dump();
    kept += j.keep();
  }
  EXPECT_GT(kept, 2);
  EXPECT_STREQ(f->rules()[0], "fasttext_en<0.5");
  EXPECT_NE(message_of([&] { find_filter("fasttext:" + model + ":enn:0.5"); }).find("did you mean '__label__en'"),
            std::string::npos);
  EXPECT_NE(message_of([&] { find_filter("fasttext:" + model + ":en:2"); }).find("probability"), std::string::npos);
}

TEST(Classifier, LearnsWhatCanBeLearned) {
  std::mt19937 random(12);
  FeatureMaker maker;
  const auto texts = [&](int n, int shift) {
    std::vector<TextFeatures> all;
    for (int i = 0; i < n; ++i) {
      std::string t;
      for (int w = 0; w < 40; ++w)
        t += fmt::format("w{} ", random() % 300 + static_cast<unsigned>(random() % 4 ? 0 : shift));
      all.push_back(maker.make(t));
    }
    return all;
  };
  const std::vector<TextFeatures> good = texts(600, 300), bad = texts(300, 600), same = texts(300, 300);
  ClassifierReport r, chance;
  const LinearClassifier c = LinearClassifier::train(good, bad, {}, r);
  EXPECT_GT(r.auc, 0.97);
  EXPECT_GT(r.accuracy, 0.9);
  EXPECT_EQ(r.held_out_good, 60u);
  EXPECT_EQ(r.held_out_bad, 30u);
  LinearClassifier::train(good, same, {}, chance);
  EXPECT_NEAR(chance.auc, 0.5, 0.2);
  const fs::path file = fs::temp_directory_path() / fmt::format("quern-classifier-{}", ::getpid());
  c.save(file);
  const LinearClassifier again = LinearClassifier::load(file);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(again.probability(good[i]), c.probability(good[i]));
  const auto f = find_filter("classifier:" + file.string() + ":0.5")();
  EXPECT_EQ(f->apply("w310 w320").keep(), c.probability(maker.make("w310 w320")) >= 0.5);
  write_file(file, "quern-linear-1\ncut");
  EXPECT_NE(message_of([&] { LinearClassifier::load(file); }).find("bytes long, expected"), std::string::npos);
  fs::remove(file);
  EXPECT_THROW(LinearClassifier::train({}, bad, {}, r), Error);
}

}  // namespace
}  // namespace quern::corpus

// Stored logits: what is read is what was written, to the step of the store; losses by them are those by logits; damaged
// and foreign folders are refused.
#include "quern/train/distill/teacher_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path(fs::temp_directory_path() / fmt::format("quern_teacher_store_{}", ::getpid())) {
    fs::remove_all(path);
  }
  ~Folder() { fs::remove_all(path); }
  const fs::path path;
};

constexpr int64_t kVocab = 300;
const TeacherIdentity kTeacher{"big", "0123", "bf16", "abcd", 8, kVocab, 2.0};

std::vector<float> some_logits(uint64_t seed, double spread) {
  Rng rng(seed);
  std::vector<float> x(kVocab);
  for (float& v : x) v = static_cast<float>(spread * rng.normal());
  return x;
}

std::vector<TopWords> some_words(uint64_t seed, size_t n) {
  std::vector<TopWords> out(n);
  for (size_t i = 0; i < n; ++i) top_words(some_logits(seed + i, 3), kTeacher.top, kTeacher.temperature, out[i]);
  return out;
}

TEST(TopWords, AreTheLikeliestAndAllOthers) {
  for (const double spread : {0.1, 3.0, 40.0}) {
    const std::vector<float> logits = some_logits(1, spread);
    TopWords top;
    top_words(logits, 8, 2, top);
    std::vector<double> p;
    double sum = 0, of_top = 0;
    for (const float x : logits) p.push_back(std::exp(static_cast<double>(x) / 2)), sum += p.back();
    std::vector<double> sorted = p;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    ASSERT_EQ(top.words.size(), 8u);
    ASSERT_EQ(top.log_p.size(), 9u);
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(top.log_p[i], std::log(sorted[i] / sum), 1e-9);
      EXPECT_EQ(p[top.words[i]], sorted[i]);
      of_top += sorted[i] / sum;
    }
    EXPECT_NEAR(std::exp(top.log_p[8]), 1 - of_top, 1e-9);
  }
}

TEST(TeacherStore, HoldsWhatWasWritten) {
  const Folder made;
  std::vector<std::pair<uint64_t, std::vector<TopWords>>> documents;
  for (uint64_t d = 0; d < 40; ++d) documents.emplace_back(1000 + 7 * d, some_words(10 * d, 1 + 20 * d));
  {
    TeacherStoreWriter to(made.path, kTeacher);
    for (size_t d = 0; d < 20; ++d) to.add(documents[d].first, documents[d].second);
    to.finish();
  }
  TeacherStoreWriter more(made.path, kTeacher);  // goes on
  EXPECT_TRUE(more.holds(1000));
  EXPECT_FALSE(more.holds(1000 + 7 * 20));
  for (size_t d = 20; d < 40; ++d) more.add(documents[d].first, documents[d].second);
  more.finish();
  const TeacherStore store(made.path);
  EXPECT_EQ(store.documents(), 40);
  EXPECT_GT(store.parts(), 1);
  EXPECT_EQ(store.identity().to_json().dump(), kTeacher.to_json().dump());
  TopWords read;
  for (const auto& [key, want] : documents) {
    const auto found = store.find(key, static_cast<int64_t>(want.size()));
    ASSERT_TRUE(found && found->size() == want.size());
    for (size_t t = 0; t < want.size(); ++t) {
      store.read((*found)[t], read);
      EXPECT_EQ(read.words, want[t].words);
      double sum = 0;
      for (size_t i = 0; i < read.log_p.size(); ++i) {
        EXPECT_NEAR(read.log_p[i], want[t].log_p[i], 1.0 / 1024) << "half a step, and as much to sum to 1";
        sum += std::exp(read.log_p[i]);
      }
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
  EXPECT_FALSE(store.find(5, 1).has_value());
  EXPECT_NE(message_of([&] { store.find(1000, 2); }).find("1 stored tokens and 2 learned ones"), std::string::npos);
}

TEST(TeacherStore, LossesAreThoseOfLogits) {
  const Folder made;
  TeacherStoreWriter to(made.path, kTeacher);
  for (uint64_t i = 0; i < 50; ++i) {
    TopWords top;
    top_words(some_logits(i, 3), kTeacher.top, kTeacher.temperature, top);
    to.add(i, std::span(&top, 1));
  }
  to.finish();
  const TeacherStore store(made.path);
  for (const char* direction : {"forward", "reverse"})
    for (uint64_t i = 0; i < 50; ++i) {
      const DistillConfig c{.teacher = "big", .direction = direction, .weight = 0.7, .temperature = 2, .top = 8};
      std::vector<float> live = some_logits(100 + i, 2), stored = live;
      const double want = distill_token(c, some_logits(i, 3), live, 3);
      TopWords read;
      store.read(store.find(i, 1)->at(0), read);
      EXPECT_NEAR(distill_token(c, read, stored, 3), want, 4e-3) << direction << i;
      float largest = 0;
      for (size_t v = 0; v < live.size(); ++v) largest = std::max(largest, std::fabs(live[v]));
      for (size_t v = 0; v < live.size(); ++v) EXPECT_NEAR(stored[v], live[v], 4e-3f * std::max(1.0f, largest));
    }
}

TEST(TeacherStore, DocumentsAreToldApart) {
  const std::vector<int32_t> a = {1, 2, 3}, b = {1, 2, 4}, all = {2, 3, 4}, some = {-1, 3, 4};
  EXPECT_EQ(document_key(a, all), document_key(a, std::vector<int32_t>{2, 3, 9})) << "what is learned, not its value";
  EXPECT_NE(document_key(a, all), document_key(b, all));
  EXPECT_NE(document_key(a, all), document_key(a, some));
  EXPECT_NE(document_key(a, all), document_key(std::span(a).first(2), std::span(all).first(2)));
}

TEST(TeacherStore, WhatDoesNotFitIsNamed) {
  const auto message = [](auto change) {
    TeacherIdentity wanted = kTeacher;
    change(wanted);
    return message_of([&] { check_same_teacher(kTeacher, wanted, "here"); });
  };
  EXPECT_EQ(message([](TeacherIdentity&) {}), "");
  EXPECT_EQ(message([](TeacherIdentity& t) { t.fingerprint = t.tokenizer = ""; }), "") << "not on this machine";
  EXPECT_NE(message([](TeacherIdentity& t) { t.top = 9; }).find("distill.top is 8, the recipe has 9"),
            std::string::npos);
  EXPECT_NE(message([](TeacherIdentity& t) { t.temperature = 1; }).find("distill.temperature is 2"),
            std::string::npos);
  EXPECT_NE(message([](TeacherIdentity& t) { t.format = "q8"; }).find("distill.format"), std::string::npos);
  EXPECT_NE(message([](TeacherIdentity& t) { t.tokenizer = "x"; }).find("another tokenizer"), std::string::npos);
  EXPECT_NE(message([](TeacherIdentity& t) { t.vocab = 301; }).find("vocabulary is 300"), std::string::npos);
  EXPECT_NE(message([](TeacherIdentity& t) { t.fingerprint = "9"; }).find("of another teacher"), std::string::npos);
}

TEST(TeacherStore, DamagedFoldersSaySo) {
  const Folder made;
  EXPECT_NE(message_of([&] { TeacherStore{made.path}; }).find("store.json is missing"), std::string::npos);
  {
    TeacherStoreWriter to(made.path, kTeacher);
    to.add(1, some_words(1, 3));
    to.finish();
  }
  TeacherIdentity other = kTeacher;
  other.top = 9;
  EXPECT_NE(message_of([&] { TeacherStoreWriter(made.path, other); }).find("distill.top"), std::string::npos);
  write_file(made.path / "store.json", other.to_json().dump());
  EXPECT_NE(message_of([&] { TeacherStore{made.path}; }).find("do not add up"), std::string::npos);
  write_file(made.path / "store.json", kTeacher.to_json().dump());
  const fs::path part = made.path / "00000.safetensors";
  const std::string whole = read_file(part);
  write_file(part, whole.substr(0, whole.size() - 9));
  EXPECT_NE(message_of([&] { TeacherStore{made.path}; }), "");
  write_file(part, whole);
  EXPECT_EQ(TeacherStore(made.path).documents(), 1);
}

}  // namespace
}  // namespace quern::train

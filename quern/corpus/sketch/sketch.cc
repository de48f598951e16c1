#include "quern/corpus/sketch/sketch.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/corpus/sketch/minhash.h"

namespace quern::corpus {
namespace {

constexpr uint64_t kRoll = 0x9e6c63d0876a9a35ull;  // odd: rolling mod 2^64 loses nothing

}  // namespace

const char* text_normalizer_name(TextNormalizer n) {
  switch (n) {
    case TextNormalizer::zyda1:
      return "zyda1";
    case TextNormalizer::slimpajama:
      return "slimpajama";
    case TextNormalizer::datatrove:
      return "datatrove";
    case TextNormalizer::raw:
      return "raw";
  }
  return "";
}

const char* family_name(RowFamily f) {
  switch (f) {
    case RowFamily::datasketch:
      return "datasketch";
    case RowFamily::murmur:
      return "murmur";
    case RowFamily::one_permutation:
      return "one_permutation";
  }
  return "";
}

Json SketchConfig::json() const {
  Json j = Json::object();
  j.set("normaliser", text_normalizer_name(text_normalizer)), j.set("shingle", shingle),
      j.set("family", family_name(family));
  j.set("rows", rows), j.set("seed", static_cast<int64_t>(seed)), j.set("short_as_one", short_as_one);
  return j;
}

SketchMaker::SketchMaker(const SketchConfig& config) : config_(config) {
  if (config.shingle < 1 || config.shingle > 1024) fail("shingle {}: expected 1 to 1024 tokens", config.shingle);
  if (config.rows < 1 || config.rows > 512) fail("rows {}: expected 1 to 512", config.rows);
  if (config.family == RowFamily::datasketch) permutations_ = datasketch_permutations(config.rows, config.seed);
  if (config.family == RowFamily::murmur) seeds_ = murmur_seeds(config.rows, config.seed);
  rows_.resize(static_cast<size_t>(config.rows));
  ring_.resize(static_cast<size_t>(config.shingle));
  oldest_factor_ = 1;
  for (int i = 0; i < config.shingle; ++i) oldest_factor_ *= kRoll;
}

// H ← H·B + t_new − t_oldest·B^k, then folded: a window's hash in O(1).
void SketchMaker::hash_shingles() {
  const size_t n = tokens_.size(), k = static_cast<size_t>(config_.shingle);
  shingles_.clear();
  if (n < k && !(config_.short_as_one && n > 0)) return;
  const uint64_t salt = fold64(config_.seed * kFoldA + 1, kFoldC);
  const size_t windows = n < k ? 1 : n - k + 1;
  shingles_.resize(windows);
  const char* text = tokens_.text.data();
  const uint32_t* begin = tokens_.begin.data();
  const uint32_t gap = tokens_.gap;
  uint64_t h = 0;
  size_t slot = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t t = token_hash(text + begin[i], begin[i + 1] - gap - begin[i]);
    if (i < k) {
      h = h * kRoll + t;
    } else {
      h = h * kRoll + t - ring_[slot] * oldest_factor_;
    }
    ring_[slot] = t;
    slot = slot + 1 == k ? 0 : slot + 1;
    if (i + 1 >= k) shingles_[i + 1 - k] = fold64(h ^ salt, kFoldB);
  }
  if (n < k) shingles_[0] = fold64(h ^ salt, kFoldB);
}

void SketchMaker::fill_rows() {
  if (config_.family == RowFamily::one_permutation) {
    one_permutation_rows(shingles_, rows_);
    return;
  }
  const size_t windows = shingles_.size(), k = std::min(static_cast<size_t>(config_.shingle), tokens_.size());
  begin_.resize(windows), end_.resize(windows);
  for (size_t i = 0; i < windows; ++i) {
    begin_[i] = tokens_.begin[i];
    end_[i] = tokens_.begin[i + k] - tokens_.gap;
  }
  if (config_.family == RowFamily::murmur) {
    murmur_rows(seeds_, tokens_.text, begin_, end_, rows_);
    return;
  }
  low_.resize(windows);
  sha1_low32(tokens_.text, begin_, end_, low_);
  datasketch_rows(permutations_, low_, rows_);
}

const Sketch& SketchMaker::make(std::string_view utf8) {
  normalize(config_.text_normalizer, utf8, tokens_, scratch_);
  hash_shingles();
  fill_rows();
  sketch_.shingles = shingles_;
  sketch_.rows = rows_;
  sketch_.content = content_hash(shingles_.empty() ? utf8 : tokens_.joined());
  return sketch_;
}

std::span<const uint64_t> SketchMaker::shingles(std::string_view utf8) {
  normalize(config_.text_normalizer, utf8, tokens_, scratch_);
  hash_shingles();
  return shingles_;
}

}  // namespace quern::corpus

#include "quern/corpus/language/ngram_classifier.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quern/base/config.h"
#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/language/letters.h"
#include "quern/corpus/language/ngram_sums.h"

namespace quern::corpus {
namespace {

constexpr std::string_view kMagic = "quern-ngrams-1\n";
constexpr int kMaxWidth = 64;
constexpr size_t kMaxLabels = 1024;
constexpr size_t kSummed = size_t{1} << 23;  // rows of int8 whose sum 32 bits hold
constexpr float kNothing = 20;               // a label so far below the best one, in the exponent, has no probability

struct Header {
  NgramShape shape;
  std::vector<std::string> labels;
  double scale = 1;
  template <class V>
  void visit(V& v) {
    v("shape", shape), v("labels", labels), v("scale", scale);
  }
};

void check_shape(const NgramShape& s, size_t labels, const std::string& name) {
  const bool orders = !s.orders.empty() && s.orders.size() <= kMaxNgram &&
                      std::ranges::all_of(s.orders, [](int n) { return n >= 1 && n <= kMaxNgram; });
  if (s.bits < 1 || s.bits > 24 || s.width < 16 || s.width > kMaxWidth || s.width % 16 != 0 || !orders ||
      labels < 2 || labels > kMaxLabels)
    fail("{}: damaged: a classifier of 2^{} rows of {}, {} labels", name, s.bits, s.width, labels);
}

}  // namespace

// An n-gram is n symbols of 16 bits in one number, times an odd constant of its order; the bucket is its highest bits.
void ngram_buckets(std::span<const uint16_t> letters, const NgramShape& shape, std::vector<uint32_t>& out) {
  constexpr uint64_t kSalts[] = {0, 0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full, 0xd6e8feb86659fd93ull,
                                 0xff51afd7ed558ccdull};
  const int down = 64 - shape.bits;
  size_t n = 0;
  for (int order : shape.orders) n += letters.size() - std::min(letters.size(), static_cast<size_t>(order) - 1);
  out.resize(n);
  uint32_t* to = out.data();
  for (int order : shape.orders) {
    const auto k = static_cast<size_t>(order);
    if (letters.size() < k) continue;
    const uint64_t salt = kSalts[k];
    const size_t grams = letters.size() - k + 1;
    // Four symbols are read where there are four, and those in excess pushed out.
    const size_t quick = letters.size() < kMaxNgram ? 0 : letters.size() - kMaxNgram + 1;
    const int push = 16 * (kMaxNgram - order);
    const uint16_t* from = letters.data();
    size_t i = 0;
    for (; i < quick; ++i) {
      uint64_t window;
      std::memcpy(&window, from + i, sizeof window);
      to[i] = static_cast<uint32_t>((window << push) * salt >> down);
    }
    for (; i < grams; ++i) {
      uint64_t window = 0;
      std::memcpy(&window, from + i, k * sizeof(uint16_t));
      to[i] = static_cast<uint32_t>((window << push) * salt >> down);
    }
    to += grams;
  }
}

NgramClassifier NgramClassifier::load(const std::filesystem::path& file) {
  return parse(read_file(file), file.string());
}

NgramClassifier NgramClassifier::parse(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(kMagic))
    fail("{} is not a classifier of n-grams written by quern corpus train-classifier", name);
  bytes.remove_prefix(kMagic.size());
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  Header h;
  from_json(Json::parse(bytes.substr(0, end), name), h, name, UnknownKeys::refuse);
  check_shape(h.shape, h.labels.size(), name);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  const auto width = static_cast<size_t>(h.shape.width), rows = width << h.shape.bits, labels = h.labels.size();
  const size_t expected = rows + sizeof(float) * labels * (width + 1);
  if (bytes.size() != expected)
    fail("{}: damaged: {} bytes after its header, expected {}", name, bytes.size(), expected);
  NgramClassifier c;
  c.shape_ = h.shape, c.labels_ = h.labels, c.scale_ = static_cast<float>(h.scale);
  c.rows_.resize(rows), c.weights_.resize(labels * width), c.bias_.resize(labels);
  const auto take = [&](auto& to) {
    std::memcpy(to.data(), bytes.data(), to.size() * sizeof to[0]);
    bytes.remove_prefix(to.size() * sizeof to[0]);
  };
  take(c.rows_), take(c.weights_), take(c.bias_);
  const auto finite = [](const std::vector<float>& v) {
    return std::ranges::all_of(v, [](float x) { return std::isfinite(x); });
  };
  if (!std::isfinite(c.scale_) || !finite(c.weights_) || !finite(c.bias_))
    fail("{}: damaged: a weight is not a finite number", name);
  c.set_columns();
  return c;
}

void NgramClassifier::set_columns() {
  const auto width = static_cast<size_t>(shape_.width), n = labels_.size();
  columns_.resize(weights_.size());
  for (size_t l = 0; l < n; ++l)
    for (size_t k = 0; k < width; ++k) columns_[k * n + l] = weights_[l * width + k];
}

std::string NgramClassifier::bytes() const {
  std::string s(kMagic);
  s += write_value(Header{shape_, labels_, static_cast<double>(scale_)}).dump() + "\n";
  const auto put = [&](const auto& from) {
    s.append(reinterpret_cast<const char*>(from.data()), from.size() * sizeof from[0]);
  };
  put(rows_), put(weights_), put(bias_);
  return s;
}

NgramClassifier::Answer NgramClassifier::classify(std::string_view utf8, Scratch& scratch) const {
  read_letters(utf8, scratch.letters);
  const auto width = static_cast<size_t>(shape_.width);
  if (scratch.letters.empty()) {
    scratch.scores.assign(labels_.size(), 0);
    return {};
  }
  ngram_buckets(scratch.letters, shape_, scratch.buckets);
  int64_t sums[kMaxWidth] = {};
  for (size_t at = 0; at < scratch.buckets.size(); at += kSummed) {
    int32_t some[kMaxWidth] = {};
    add_rows(rows_.data(), width,
             std::span(scratch.buckets).subspan(at, std::min(kSummed, scratch.buckets.size() - at)), some);
    for (size_t k = 0; k < width; ++k) sums[k] += some[k];
  }
  const float mean = scale_ / static_cast<float>(std::max<size_t>(scratch.buckets.size(), 1));
  std::vector<float>& z = scratch.scores;
  z.assign(bias_.begin(), bias_.end());
  for (size_t k = 0; k < width; ++k) {
    const float x = mean * static_cast<float>(sums[k]);
    const float* w = columns_.data() + k * z.size();
    for (size_t l = 0; l < z.size(); ++l) z[l] += w[l] * x;
  }
  Answer best{.label = static_cast<int>(std::ranges::max_element(z) - z.begin()), .probability = 0};
  const float most = z[static_cast<size_t>(best.label)];
  float total = 0;
  for (float& p : z) total += p = p < most - kNothing ? 0 : std::exp(p - most);
  for (float& p : z) p /= total;
  best.probability = 1 / total;
  return best;
}

}  // namespace quern::corpus

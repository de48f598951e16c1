#include "quern/recall/bm25/embed.h"

#include <algorithm>
#include <cmath>

#include "quern/base/threads.h"

namespace quern::recall {
namespace {

// value(row, i) for every entry i of every row, then unit length.
template <class F>
SparseRows weigh(const TermCounts& t, F&& value) {
  SparseRows x{.begin = t.begin, .column = t.term, .value = std::vector<float>(t.term.size()), .columns = t.terms()};
  parallel_for(static_cast<int64_t>(t.rows()), 4096, [&](int64_t b, int64_t e) {
    for (auto r = static_cast<size_t>(b); r < static_cast<size_t>(e); ++r)
      for (uint64_t i = x.begin[r]; i < x.begin[r + 1]; ++i) x.value[i] = value(r, i);
  });
  normalize_rows(x);
  return x;
}

std::vector<float> tf_idf_weights(const TermCounts& t) {
  std::vector<float> w(t.terms());
  for (size_t v = 0; v < w.size(); ++v)  // terms rise in their frequency: many share one
    w[v] = v > 0 && t.documents[v] == t.documents[v - 1]
               ? w[v - 1]
               : static_cast<float>(tf_idf_weight(t.rows(), t.documents[v]));
  return w;
}

class TfIdfEmbedder : public SparseEmbedder {
 public:
  std::string_view name() const override { return "tf-idf"; }
  SparseRows embed(const TermCounts& t) override {
    weight_ = tf_idf_weights(t);
    return weigh(t, [&](size_t, uint64_t i) { return static_cast<float>(t.count[i]) * weight_[t.term[i]]; });
  }
  float query_weight(uint32_t term) const override { return weight_.at(term); }

 private:
  std::vector<float> weight_;
};

class Bm25Embedder : public SparseEmbedder {
 public:
  explicit Bm25Embedder(Bm25Options o) : options_(o) {}
  std::string_view name() const override { return "bm25"; }
  SparseRows embed(const TermCounts& t) override {
    const double n = static_cast<double>(t.rows());
    Collection c{.documents = t.rows()};
    for (const uint32_t l : t.length) c.words += l;
    const double mean = c.mean_length();
    weight_.resize(t.terms());
    for (size_t v = 0; v < weight_.size(); ++v)
      weight_[v] = static_cast<float>(std::log(1 + (n - t.documents[v] + 0.5) / (t.documents[v] + 0.5)));
    return weigh(t, [&](size_t r, uint64_t i) {
      const double f = t.count[i];
      return static_cast<float>(weight_[t.term[i]] * f /
                                (f + options_.k1 * (1 - options_.b + options_.b * t.length[r] / mean)));
    });
  }
  float query_weight(uint32_t term) const override { return weight_.at(term); }

 private:
  Bm25Options options_;
  std::vector<float> weight_;
};

class HashingEmbedder : public SparseEmbedder {
 public:
  explicit HashingEmbedder(int bits) : bits_(bits) {
    if (bits < 1 || bits > 30) fail("hashing embedder: {} bits, expected 1 to 30", bits);
  }
  std::string_view name() const override { return "hashing"; }
  SparseRows embed(const TermCounts& t) override {
    const size_t columns = size_t{1} << bits_;
    std::vector<uint32_t> documents(columns);
    SparseRows x;
    x.columns = columns;
    std::vector<std::pair<uint32_t, float>> row;
    for (size_t r = 0; r < t.rows(); ++r) {
      row.clear();
      for (uint64_t i = t.begin[r]; i < t.begin[r + 1]; ++i)
        row.emplace_back(column_of(t.keys[t.term[i]]), sign_of(t.keys[t.term[i]]) * static_cast<float>(t.count[i]));
      std::sort(row.begin(), row.end());
      for (size_t i = 0; i < row.size(); ++i) {
        const bool same = i > 0 && row[i - 1].first == row[i].first;
        if (!same) x.column.push_back(row[i].first), x.value.push_back(0), ++documents[row[i].first];
        x.value.back() += row[i].second;
      }
      x.begin.push_back(x.column.size());
    }
    weight_.resize(columns);
    for (size_t c = 0; c < columns; ++c) weight_[c] = static_cast<float>(tf_idf_weight(t.rows(), documents[c]));
    for (size_t i = 0; i < x.value.size(); ++i) x.value[i] *= weight_[x.column[i]];
    normalize_rows(x);
    keys_ = t.keys;
    return x;
  }
  float query_weight(uint32_t term) const override { return weight_.at(column_of(keys_.at(term))); }

 private:
  uint32_t column_of(uint64_t key) const { return static_cast<uint32_t>(key >> (64 - bits_)); }
  static float sign_of(uint64_t key) { return key & 1 ? 1.f : -1.f; }
  int bits_;
  std::vector<float> weight_;
  std::vector<uint64_t> keys_;
};

}  // namespace

double tf_idf_weight(uint64_t rows, uint64_t documents) {
  return std::log((1.0 + static_cast<double>(rows)) / (1.0 + static_cast<double>(documents))) + 1;
}

void normalize_rows(SparseRows& x) {
  parallel_for(static_cast<int64_t>(x.rows()), 4096, [&](int64_t b, int64_t e) {
    for (auto r = static_cast<size_t>(b); r < static_cast<size_t>(e); ++r) {
      double square = 0;
      for (uint64_t i = x.begin[r]; i < x.begin[r + 1]; ++i) square += double{x.value[i]} * x.value[i];
      const float scale = square > 0 ? static_cast<float>(1 / std::sqrt(square)) : 0;
      for (uint64_t i = x.begin[r]; i < x.begin[r + 1]; ++i) x.value[i] *= scale;
    }
  });
}

std::unique_ptr<SparseEmbedder> tf_idf_embedder() { return std::make_unique<TfIdfEmbedder>(); }
std::unique_ptr<SparseEmbedder> bm25_embedder(Bm25Options options) { return std::make_unique<Bm25Embedder>(options); }
std::unique_ptr<SparseEmbedder> hashing_embedder(int bits) { return std::make_unique<HashingEmbedder>(bits); }
std::unique_ptr<SparseEmbedder> make_embedder(std::string_view name) {
  if (name == "tf-idf") return tf_idf_embedder();
  if (name == "bm25") return bm25_embedder();
  if (name == "hashing") return hashing_embedder();
  fail("embedder '{}', expected tf-idf, bm25 or hashing", name);
}

}  // namespace quern::recall

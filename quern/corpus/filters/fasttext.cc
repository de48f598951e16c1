#include "quern/corpus/filters/fasttext.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/filters/fasttext_table.h"

namespace quern::corpus {
namespace {

constexpr int32_t kMagic = 793712314;
constexpr std::string_view kEndOfText = "</s>";

enum class Loss : int32_t { hierarchical = 1, negative = 2, softmax = 3, one_against_all = 4 };

uint32_t fnv(std::string_view s) {
  uint32_t h = 2166136261u;
  for (char c : s) {
    h ^= static_cast<uint32_t>(static_cast<int8_t>(c));  // the sign is carried, as published
    h *= 16777619u;
  }
  return h;
}

// The logistic function in 512 steps from -8 to 8, each at its beginning: what fastText looks up in a table.
float coarse_logistic(float x) {
  if (!(x >= -8)) return 0;  // no number either
  if (x > 8) return 1;
  const auto step = static_cast<int64_t>((x + 8) * 512 / 8 / 2);
  return 1.0f / (1.0f + std::exp(-(static_cast<float>(step * 16) / 512 - 8)));
}

struct TreeNode {
  int32_t left = -1, right = -1;
  int64_t count = 0;
};

}  // namespace

struct FastText::Model {
  int32_t dim = 0, word_ngrams = 0, bucket = 0, minn = 0, maxn = 0, words = 0;
  Loss loss = Loss::softmax;
  int64_t pruned = -1;
  std::unordered_map<std::string, int32_t> ids;
  std::unordered_map<int32_t, int32_t> pruned_to;
  std::vector<std::string> labels;
  std::vector<int64_t> label_counts;
  FastTextTable input, output;
  std::vector<TreeNode> tree;

  void push_bucket(std::vector<int32_t>& line, int32_t id) const {
    if (pruned == 0 || id < 0) return;
    if (pruned > 0) {
      const auto at = pruned_to.find(id);
      if (at == pruned_to.end()) return;
      id = at->second;
    }
    line.push_back(words + id);
  }
  void push_characters(std::string_view bracketed, std::vector<int32_t>& line) const {
    const auto inside = [&](size_t i) { return (static_cast<unsigned char>(bracketed[i]) & 0xC0) == 0x80; };
    for (size_t i = 0; i < bracketed.size(); ++i) {
      if (inside(i)) continue;
      size_t j = i;
      for (int n = 1; j < bracketed.size() && n <= maxn; ++n) {
        ++j;
        while (j < bracketed.size() && inside(j)) ++j;
        if (n >= minn && !(n == 1 && (i == 0 || j == bracketed.size())))
          push_bucket(line, static_cast<int32_t>(fnv(bracketed.substr(i, j - i)) % static_cast<uint32_t>(bucket)));
      }
    }
  }
  void push_word(std::string_view word, std::vector<int32_t>& line, std::vector<int32_t>& hashes) const {
    const auto known = ids.find(std::string(word));
    const uint32_t h = fnv(word);
    if (known == ids.end()) {
      if (word.starts_with("__label__")) return;
      if (word != kEndOfText && maxn > 0) push_characters("<" + std::string(word) + ">", line);
    } else {
      if (known->second >= words) return;  // a label
      line.push_back(known->second);
      if (word != kEndOfText && maxn > 0) push_characters("<" + std::string(word) + ">", line);
    }
    hashes.push_back(static_cast<int32_t>(h));
  }
  std::vector<int32_t> features(std::string_view s) const {
    std::vector<int32_t> line, hashes;
    const auto space = [](char c) {
      return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\v' || c == '\f' || c == '\0';
    };
    for (size_t i = 0; i < s.size();) {
      while (i < s.size() && space(s[i])) ++i;
      const size_t begin = i;
      while (i < s.size() && !space(s[i])) ++i;
      if (i > begin) push_word(s.substr(begin, i - begin), line, hashes);
    }
    push_word(kEndOfText, line, hashes);
    for (size_t i = 0; i < hashes.size(); ++i) {
      auto h = static_cast<uint64_t>(static_cast<int64_t>(hashes[i]));
      for (size_t j = i + 1; j < hashes.size() && j < i + static_cast<size_t>(std::max(word_ngrams, 1)); ++j) {
        h = h * 116049371u + static_cast<uint64_t>(static_cast<int64_t>(hashes[j]));
        push_bucket(line, static_cast<int32_t>(h % static_cast<uint64_t>(bucket)));
      }
    }
    return line;
  }
  float score(const std::vector<float>& hidden, int64_t row) const {
    float sum = 0;
    output.row(row, [&](int64_t c, float v) { sum += v * hidden[static_cast<size_t>(c)]; });
    return sum;
  }
  void grow_tree() {  // Huffman's, over labels by their counts
    const size_t n = labels.size();
    tree.assign(2 * n - 1, {});
    for (size_t i = 0; i < tree.size(); ++i) tree[i].count = i < n ? label_counts[i] : int64_t{1000000000000000};
    auto leaf = static_cast<int64_t>(n) - 1;
    size_t node = n;
    for (size_t i = n; i < tree.size(); ++i) {
      int32_t two[2];
      for (int32_t& k : two) {
        const bool is_leaf = leaf >= 0 && tree[static_cast<size_t>(leaf)].count < tree[node].count;
        k = static_cast<int32_t>(is_leaf ? leaf-- : static_cast<int64_t>(node++));
      }
      tree[i].left = two[0], tree[i].right = two[1];
      tree[i].count = tree[static_cast<size_t>(two[0])].count + tree[static_cast<size_t>(two[1])].count;
    }
  }
  void walk(const std::vector<float>& hidden, std::vector<float>& p) const {
    std::vector<std::pair<int32_t, float>> todo = {{static_cast<int32_t>(tree.size()) - 1, 1.0f}};
    while (!todo.empty()) {
      const auto [k, likely] = todo.back();
      todo.pop_back();
      const TreeNode& t = tree[static_cast<size_t>(k)];
      if (t.left < 0) {
        p[static_cast<size_t>(k)] = likely;
        continue;
      }
      const float right = 1.0f / (1.0f + std::exp(-score(hidden, k - static_cast<int64_t>(labels.size()))));
      todo.emplace_back(t.left, likely * (1.0f - right));
      todo.emplace_back(t.right, likely * right);
    }
  }
};

FastText FastText::load(const std::filesystem::path& file) {
  const MappedFile map(file);
  return from_bytes({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()}, file.string());
}

FastText FastText::from_bytes(std::string_view bytes, const std::string& name) {
  FastTextBytes in(bytes, name);
  auto m = std::make_shared<Model>();
  if (bytes.size() < 8 || in.take<int32_t>() != kMagic) fail("{} is not a fastText model", name);
  const auto version = in.take<int32_t>();
  if (version != 11 && version != 12) fail("{}: fastText format version {}, expected 11 or 12", name, version);
  int32_t args[12];
  for (int32_t& a : args) a = in.take<int32_t>();
  in.take<double>();
  m->dim = args[0], m->word_ngrams = args[5], m->loss = static_cast<Loss>(args[6]);
  m->bucket = args[8], m->minn = args[9], m->maxn = version == 11 ? 0 : args[10];
  if (args[7] != 3)
    fail("{}: a fastText model of kind {} (word vectors), expected a supervised one (3)", name, args[7]);
  if (args[6] < 1 || args[6] > 4) fail("{}: loss {}, expected 1 to 4", name, args[6]);
  const auto size = in.take<int32_t>(), words = in.take<int32_t>(), labels = in.take<int32_t>();
  in.take<int64_t>();
  m->pruned = in.take<int64_t>();
  m->words = words;
  if (words < 0 || labels < 1 || int64_t{words} + labels != size) in.bad("words and labels do not add up");
  if (m->bucket < 0 || m->word_ngrams < 0 || m->word_ngrams > 100 || m->minn < 0 || m->maxn < 0 || m->maxn > 100 ||
      m->dim < 1)
    in.bad("arguments out of range");
  if (m->bucket == 0 && (m->maxn > 0 || m->word_ngrams > 1)) in.bad("n-grams without buckets");
  for (int32_t i = 0; i < size; ++i) {
    std::string word = in.word();
    const auto count = in.take<int64_t>();
    const bool label = in.take<int8_t>() == 1;
    if (label != (i >= words)) in.bad("a label comes before a word");
    if (label) m->labels.push_back(word), m->label_counts.push_back(count);
    m->ids.emplace(std::move(word), i);
  }
  int64_t counted = 0;
  for (int64_t c : m->label_counts) {
    if (c < 0 || c > int64_t{100000000000000} - counted) in.bad("labels counted too often");
    counted += c;
  }
  for (int64_t i = 0; i < m->pruned; ++i) {
    const auto from = in.take<int32_t>(), to = in.take<int32_t>();
    if (to < 0 || to >= m->pruned) in.bad("a bucket is outside the table");
    m->pruned_to[from] = to;
  }
  m->input.quantized = in.flag();
  m->input.read(in);
  const bool quantized_output = in.flag();
  m->output.quantized = m->input.quantized && quantized_output;
  m->output.read(in);
  const int64_t rows = int64_t{words} + (m->pruned >= 0 ? m->pruned : m->bucket);
  const bool reads_buckets = m->maxn > 0 || m->word_ngrams > 1;
  if (m->input.columns != m->dim || m->output.columns != m->dim || m->input.rows < (reads_buckets ? rows : words))
    in.bad("tables of another size than the arguments say");
  if (m->output.rows < labels) in.bad("fewer output rows than labels");
  if (m->loss == Loss::hierarchical) m->grow_tree();
  FastText f;
  f.m_ = std::move(m);
  return f;
}

const std::vector<std::string>& FastText::labels() const { return m_->labels; }

std::vector<float> FastText::predict(std::string_view utf8) const {
  const std::vector<int32_t> line = m_->features(utf8);
  if (line.empty()) return {};
  std::vector<float> hidden(static_cast<size_t>(m_->dim)), p(m_->labels.size());
  for (int32_t f : line) m_->input.row(f, [&](int64_t c, float v) { hidden[static_cast<size_t>(c)] += v; });
  for (float& h : hidden) h *= static_cast<float>(1.0 / static_cast<double>(line.size()));
  if (m_->loss == Loss::hierarchical) {
    m_->walk(hidden, p);
    return p;
  }
  for (size_t i = 0; i < p.size(); ++i) p[i] = m_->score(hidden, static_cast<int64_t>(i));
  if (m_->loss == Loss::softmax) {
    const float top = *std::max_element(p.begin(), p.end());
    float sum = 0;
    for (float& x : p) sum += x = std::exp(x - top);
    for (float& x : p) x /= sum;
  } else {
    for (float& x : p) x = coarse_logistic(x);
  }
  return p;
}

int FastText::best(std::string_view utf8, float& probability) const {
  const std::vector<float> p = predict(utf8);
  if (p.empty()) return -1;
  const auto at = std::max_element(p.begin(), p.end());
  probability = *at;
  return static_cast<int>(at - p.begin());
}

}  // namespace quern::corpus

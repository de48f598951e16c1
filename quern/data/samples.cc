#include "quern/data/samples.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/data/shuffle.h"

namespace quern::data {
namespace {

std::unique_ptr<IndexedTokens> mask_beside(const IndexedTokens& tokens) {
  const std::filesystem::path prefix = with_suffix(tokens.prefix(), ".mask");
  if (!std::filesystem::exists(with_suffix(prefix, ".idx"))) return nullptr;
  auto mask = std::make_unique<IndexedTokens>(prefix);
  if (mask->tokens() != tokens.tokens() || mask->documents() != tokens.documents())
    fail("{}: {} tokens in {} documents, but its tokens are {} in {}", prefix.string(), mask->tokens(),
         mask->documents(), tokens.tokens(), tokens.documents());
  return mask;
}

// Inputs [begin, begin + n) of the stream with the tokens that follow them as targets.
void append_piece(const IndexedTokens& tokens, const IndexedTokens* mask, int64_t begin, int64_t n,
                  bool last_has_target, TokenBatch& to) {
  std::vector<int32_t> ids(static_cast<size_t>(n + (last_has_target ? 1 : 0))), wanted(ids.size(), 1);
  tokens.read(begin, ids);
  if (mask) mask->read(begin, wanted);
  to.tokens.insert(to.tokens.end(), ids.begin(), ids.begin() + n);
  for (size_t i = 1; i <= static_cast<size_t>(n); ++i) {
    const bool learns = i < ids.size() && wanted[i] != 0;
    to.targets.push_back(learns ? ids[i] : -1);
    to.loss_tokens += learns;
  }
  to.lengths.push_back(n);
}

std::string described(const IndexedTokens& t, bool masked) {
  return fmt::format("{}: {} documents, {} tokens{}", t.prefix().string(), t.documents(), t.tokens(),
                     masked ? ", masked" : "");
}

std::vector<double> weights_of(const std::vector<DataSetConfig>& sets) {
  std::vector<double> w;
  for (const DataSetConfig& s : sets) w.push_back(s.weight);
  return w;
}

}  // namespace

void TokenBatch::add(const TokenBatch& o) {
  tokens.insert(tokens.end(), o.tokens.begin(), o.tokens.end());
  targets.insert(targets.end(), o.targets.begin(), o.targets.end());
  lengths.insert(lengths.end(), o.lengths.begin(), o.lengths.end());
  rows += o.rows, loss_tokens += o.loss_tokens;
}

StreamSamples::StreamSamples(const std::filesystem::path& prefix, int64_t length)
    : tokens_(prefix), mask_(mask_beside(tokens_)), length_(length) {
  if (length < 1) fail("samples: length {}, expected 1 or more", length);
  if (count() < 1)
    fail("{}: {} tokens, too few for one sequence of {} and its last target", prefix.string(), tokens_.tokens(),
         length);
}

int64_t StreamSamples::count() const { return (tokens_.tokens() - 1) / length_; }

void StreamSamples::append(int64_t index, TokenBatch& to) const {
  int64_t at = index * length_;
  const int64_t end = at + length_;
  for (int64_t d = tokens_.document_at(at); at < end; ++d) {
    const int64_t stop = tokens_.document_begin(d + 1), n = std::min(end, stop) - at;
    if (n > 0) append_piece(tokens_, mask_.get(), at, n, at + n < stop, to);
    at += n;
  }
  ++to.rows;
}

std::string StreamSamples::describe() const {
  return fmt::format("{}, {} rows of {}", described(tokens_, mask_ != nullptr), count(), length_);
}

PackedSamples::PackedSamples(const std::filesystem::path& prefix, int64_t length)
    : tokens_(prefix), mask_(mask_beside(tokens_)) {
  std::vector<int64_t> inputs;
  int64_t too_long = 0, longest = 0;
  for (int64_t d = 0; d < tokens_.documents(); ++d) {
    inputs.push_back(std::max<int64_t>(0, tokens_.document_length(d) - 1));
    too_long += inputs.back() > length;
    longest = std::max(longest, inputs.back());
  }
  if (too_long > 0)
    fail(
        "{}: {} of {} documents are longer than a sequence of {} tokens (the longest has {}), and whole documents "
        "are "
        "never split; build the set with max_tokens {}, or read it with rows = \"stream\"",
        prefix.string(), too_long, tokens_.documents(), length, longest, length + 1);
  packing_ = pack_best_fit(inputs, length);
  if (packing_.rows() == 0) fail("{}: no document has two tokens", prefix.string());
}

void PackedSamples::append(int64_t index, TokenBatch& to) const {
  for (int64_t d : packing_.row(index))
    append_piece(tokens_, mask_.get(), tokens_.document_begin(d), tokens_.document_length(d) - 1, true, to);
  ++to.rows;
}

std::string PackedSamples::describe() const {
  return fmt::format("{}, {} rows of {}, {:.2f} % filled, at most {} documents a row",
                     described(tokens_, mask_ != nullptr), count(), packing_.width, 100 * packing_.fill_ratio(),
                     packing_.max_documents());
}

Loader::Loader(const std::vector<DataSetConfig>& sets, int64_t length, uint64_t seed,
               const std::filesystem::path& base)
    : mixture_(weights_of(sets)), seed_(seed) {
  for (const DataSetConfig& s : sets) {
    const std::filesystem::path prefix = base / s.path;
    if (s.packing == "stream")
      sets_.push_back(std::make_unique<StreamSamples>(prefix, length));
    else if (s.packing == "pack")
      sets_.push_back(std::make_unique<PackedSamples>(prefix, length));
    else
      fail("data set {}, packing: '{}', expected stream or pack", s.path, s.packing);
  }
}

TokenBatch Loader::next(int64_t rows, int64_t part, int64_t parts) {
  QUERN_CHECK(rows >= 0 && part >= 0 && part < parts, "part {} of {}", part, parts);
  TokenBatch b;
  for (int64_t r = 0; r < rows; ++r) {
    const size_t set = mixture_.next();
    if (r >= rows * part / parts && r < rows * (part + 1) / parts) append(set, mixture_.given()[set] - 1, b);
  }
  return b;
}

void Loader::append(size_t set, int64_t nth, TokenBatch& to) const {
  const int64_t n = sets_[set]->count(), epoch = nth / n;
  const Permutation order(static_cast<uint64_t>(n), seed_, mix64(set) + static_cast<uint64_t>(epoch));
  sets_[set]->append(static_cast<int64_t>(order(static_cast<uint64_t>(nth % n))), to);
}

double Loader::epochs(size_t set) const {
  return static_cast<double>(mixture_.given()[set]) / static_cast<double>(sets_[set]->count());
}

std::string Loader::describe() const {
  std::string out;
  for (size_t i = 0; i < sets_.size(); ++i)
    out += fmt::format("{:.2f} %  {}\n", 100 * mixture_.shares()[i], sets_[i]->describe());
  return out;
}

}  // namespace quern::data

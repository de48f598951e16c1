#include "quern/train/preference/preference_data.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/train/trainer/evaluation.h"

namespace quern::train {
namespace {

std::filesystem::path pairs_at(const std::filesystem::path& prefix) {
  if (!holds_pairs(prefix)) fail("{}: holds no pairs of answers: make them with quern data pairs", prefix.string());
  return prefix;
}

}  // namespace

PreferenceData::PreferenceData(const std::filesystem::path& prefix)
    : tokens_(std::make_unique<data::IndexedTokens>(pairs_at(prefix))),
      mask_(std::make_unique<data::IndexedTokens>(data::with_suffix(prefix, ".mask"))) {
  if (mask_->tokens() != tokens_->tokens() || mask_->documents() != tokens_->documents())
    fail("{}: {} tokens in {} documents, but its mask has {} in {}", prefix.string(), tokens_->tokens(),
         tokens_->documents(), mask_->tokens(), mask_->documents());
  if (tokens_->documents() < 2 || tokens_->documents() % 2 != 0)
    fail("{}: {} documents: expected a chosen and a rejected answer for every pair", prefix.string(),
         tokens_->documents());
  for (int64_t i = 0; i < pairs(); ++i) {
    Rows rows;
    append(i, rows);
    for (int64_t at = 0; int64_t n : rows.lengths) {
      const auto first = rows.targets.begin() + at;
      if (std::none_of(first, first + n, [](int32_t t) { return t >= 0; }))
        fail("{}: pair {} has an answer without tokens", prefix.string(), i);
      at += n;
    }
  }
}

int64_t PreferenceData::length(int64_t pair) const {
  return tokens_->document_length(2 * pair) + tokens_->document_length(2 * pair + 1) - 2;
}

void PreferenceData::append(int64_t pair, Rows& rows) const {
  for (int64_t d : {2 * pair, 2 * pair + 1}) {
    const int64_t n = tokens_->document_length(d);
    if (n < 2) fail("{}: document {} has {} tokens: too few", prefix().string(), d, n);
    std::vector<int32_t> ids(static_cast<size_t>(n)), learned(static_cast<size_t>(n));
    tokens_->read(tokens_->document_begin(d), ids), mask_->read(mask_->document_begin(d), learned);
    rows.tokens.insert(rows.tokens.end(), ids.begin(), ids.end() - 1);
    for (size_t t = 1; t < ids.size(); ++t) rows.targets.push_back(learned[t] != 0 ? ids[t] : -1);
    rows.lengths.push_back(n - 1);
  }
}

}  // namespace quern::train

#include "quern/encoders/text_encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quern/base/error.h"
#include "quern/models/config_file.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::encoders {
namespace {

constexpr int64_t kBatchTokens = 2048;  // activations of a MiniLM layer then stay within a few MiB

// How many tokens each of two texts keeps when both may have `room`: the longer one gives first.
std::pair<int64_t, int64_t> shares(int64_t a, int64_t b, int64_t room) {
  if (a + b <= room) return {a, b};
  const int64_t less = std::min(a, b);
  const int64_t small = 2 * less > room ? room / 2 : less, large = room - small;
  return a <= b ? std::pair{small, large} : std::pair{large, small};
}

}  // namespace

TextEncoder TextEncoder::load(const std::filesystem::path& folder, kernels::QuantFormat format) {
  TextEncoder e(text::Tokenizer::load(folder));
  e.encoder_ = load_encoder(folder, format);
  if (e.tokenizer_.vocab_size() > e.encoder_->vocab_size())
    fail("{}: the tokenizer has {} tokens, the embedding {} rows", folder.string(), e.tokenizer_.vocab_size(),
         e.encoder_->vocab_size());
  e.settings_ = read_sentence_settings(folder);
  e.max_tokens_ = e.encoder_->max_tokens();
  if (e.settings_.max_tokens > 0) e.max_tokens_ = std::min(e.max_tokens_, e.settings_.max_tokens);
  e.read_head(models::read_config_file(folder / "config.json"));
  return e;
}

void TextEncoder::read_head(const Json& config) {
  const int64_t n = encoder_->labels();
  const Json* names = config.find("id2label");
  for (int64_t i = 0; i < n; ++i) {
    const Json* name = names ? names->find(std::to_string(i)) : nullptr;
    labels_.push_back(name && name->is_string() ? name->as_string() : fmt::format("LABEL_{}", i));
  }
  std::string wanted = text_or(config, "sbert_ce_default_activation_function", "");
  if (const Json* st = config.find("sentence_transformers")) wanted = text_or(*st, "activation_fn", wanted.c_str());
  wanted = wanted.substr(wanted.rfind('.') + 1);
  if (wanted == "Identity") {
    shown_ = Shown::logits;
  } else if (wanted == "Sigmoid" || (wanted.empty() && n == 1)) {
    shown_ = Shown::sigmoid;
  } else if (wanted.empty()) {
    shown_ = text_or(config, "problem_type", "") == "multi_label_classification" ? Shown::sigmoid : Shown::softmax;
  } else {
    fail("config.json: activation '{}' of the head is not supported; known: Identity, Sigmoid", wanted);
  }
}

text::TokenSequence TextEncoder::sequence(std::string_view text, EncoderResult& count) const {
  std::string changed;
  if (settings_.lowercase) {
    changed = text::utf8_lossy(text);
    text::unicode_lowercase(changed);
    text = changed;
  }
  std::vector<int32_t> ids = tokenizer_.encode(text, {.add_special_tokens = false, .parse_special = true});
  const auto room = max_tokens_ - static_cast<int64_t>(tokenizer_.with_specials({}).ids.size());
  if (static_cast<int64_t>(ids.size()) > room) {
    ids.resize(static_cast<size_t>(std::max<int64_t>(0, room)));
    ++count.truncated;
  }
  return tokenizer_.with_specials(ids);
}

text::TokenSequence TextEncoder::sequence(const Pair& pair, EncoderResult& count) const {
  std::vector<int32_t> a = tokenizer_.encode(pair.first, {.add_special_tokens = false}),
                       b = tokenizer_.encode(pair.second, {.add_special_tokens = false});
  const auto room = max_tokens_ - static_cast<int64_t>(tokenizer_.with_specials({}, {}).ids.size());
  const auto na = static_cast<int64_t>(a.size()), nb = static_cast<int64_t>(b.size());
  const auto [keep_a, keep_b] = shares(na, nb, std::max<int64_t>(0, room));
  count.truncated += keep_a < na || keep_b < nb;
  a.resize(static_cast<size_t>(keep_a)), b.resize(static_cast<size_t>(keep_b));
  return tokenizer_.with_specials(a, b);
}

template <class Last>
void TextEncoder::run(std::span<const text::TokenSequence> all, int64_t width, EncoderResult& result,
                      Last last) const {
  result.rows = Tensor::empty({static_cast<int64_t>(all.size()), width}, DType::f32);
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return all[a].ids.size() > all[b].ids.size(); });
  std::vector<int32_t> ids, types, offsets;
  for (size_t from = 0; from < order.size();) {
    ids.clear(), types.clear(), offsets.assign(1, 0);
    size_t to = from;
    do {
      const text::TokenSequence& s = all[order[to]];
      ids.insert(ids.end(), s.ids.begin(), s.ids.end());
      types.insert(types.end(), s.types.begin(), s.types.end());
      offsets.push_back(static_cast<int32_t>(ids.size()));
      ++to;
    } while (to < order.size() && static_cast<int64_t>(ids.size() + all[order[to]].ids.size()) <= kBatchTokens);
    const TokenBatch batch{ids, types, offsets};
    const Tensor rows = last(encoder_->hidden(batch), batch);
    for (size_t i = from; i < to; ++i)
      std::copy_n(rows.data<float>() + static_cast<int64_t>(i - from) * width, width,
                  result.rows.data<float>() + static_cast<int64_t>(order[i]) * width);
    result.tokens += static_cast<int64_t>(ids.size());
    from = to;
  }
}

std::string TextEncoder::prompt_of(TextRole role) const {
  std::string prompt = settings_.default_prompt;
  const auto use = [&](const char* name) { prompt = settings_.prompts.contains(name) ? name : prompt; };
  if (role == TextRole::query) use("query");
  if (role == TextRole::document) use("passage"), use("document");
  return prompt.empty() ? prompt : settings_.prompts.at(prompt);
}

std::vector<int32_t> TextEncoder::tokens(std::string_view text, TextRole role) const {
  std::string all = prompt_of(role) + std::string(text);
  if (settings_.lowercase) text::unicode_lowercase(all);
  return tokenizer_.encode(all);
}

EncoderResult TextEncoder::embed(std::span<const std::string> texts, TextRole role) const {
  const std::string before = prompt_of(role);
  EncoderResult result;
  std::vector<text::TokenSequence> all;
  for (const std::string& t : texts) all.push_back(sequence(before.empty() ? t : before + t, result));
  run(all, width(), result,
      [&](const Tensor& h, const TokenBatch& batch) { return pool(h, batch, settings_.pooling); });
  return result;
}

EncoderResult TextEncoder::embed_tokens(std::span<const std::vector<int32_t>> texts) const {
  EncoderResult result;
  std::vector<text::TokenSequence> all;
  for (const std::vector<int32_t>& ids : texts) {
    all.push_back({ids, std::vector<int32_t>(ids.size())});
    if (ids.empty()) fail("a text of token ids is empty");
    if (static_cast<int64_t>(ids.size()) <= max_tokens_) continue;
    all.back().ids.resize(static_cast<size_t>(max_tokens_)),
        all.back().types.resize(static_cast<size_t>(max_tokens_));
    ++result.truncated;
  }
  run(all, width(), result,
      [&](const Tensor& h, const TokenBatch& batch) { return pool(h, batch, settings_.pooling); });
  return result;
}

void TextEncoder::show(const Tensor& logits) const {
  const int64_t n = logits.dim(1);
  for (int64_t i = 0; i < logits.dim(0) && shown_ != Shown::logits; ++i) {
    float* row = logits.data<float>() + i * n;
    const float top = *std::max_element(row, row + n);
    float sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      row[k] = shown_ == Shown::sigmoid ? 1 / (1 + std::exp(-row[k])) : std::exp(row[k] - top);
      sum += row[k];
    }
    for (int64_t k = 0; k < n && shown_ == Shown::softmax; ++k) row[k] /= sum;
  }
}

EncoderResult TextEncoder::score_sequences(std::span<const text::TokenSequence> all, EncoderResult result) const {
  if (!scores()) fail("this encoder has no head for classification: it embeds, but gives no scores of its own");
  run(all, encoder_->labels(), result, [&](const Tensor& h, const TokenBatch& b) { return encoder_->logits(h, b); });
  show(result.rows);
  return result;
}

EncoderResult TextEncoder::score(std::span<const std::string> texts) const {
  EncoderResult count;
  std::vector<text::TokenSequence> all;
  for (const std::string& t : texts) all.push_back(sequence(t, count));
  return score_sequences(all, count);
}

EncoderResult TextEncoder::score_pairs(std::span<const Pair> pairs) const {
  EncoderResult count;
  std::vector<text::TokenSequence> all;
  for (const Pair& p : pairs) all.push_back(sequence(p, count));
  return score_sequences(all, count);
}

}  // namespace quern::encoders

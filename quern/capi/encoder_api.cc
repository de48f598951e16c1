// Encoders of quern.h: embeddings, scores of classifiers and rerankers.
#include <optional>

#include "quern/capi/handles.h"
#include "quern/capi/text_list.h"
#include "quern/encoders/text_encoder.h"
#include "quern/encoders/words/shipped_words.h"
#include "quern/encoders/words/word_vectors.h"

struct quern_encoder {
  std::optional<quern::encoders::TextEncoder> text = {};
  std::optional<quern::encoders::WordEncoder> words = {};  // one of the two
  int64_t truncated = 0;                                   // of the last call
};

namespace quern::capi {
namespace {

encoders::TextRole role_of(const char* role) {
  if (!role) return encoders::TextRole::plain;
  const std::string_view name = role;
  if (name == "query") return encoders::TextRole::query;
  if (name == "document") return encoders::TextRole::document;
  if (name != "plain") fail("role '{}': expected plain, query or document", name);
  return encoders::TextRole::plain;
}

// The rows of a result, where they have room; `per_text` floats each.
template <class Encode>
int64_t encode(quern_encoder& e, int64_t n, int64_t per_text, std::span<float> out, Encode&& run) {
  const int64_t size = n * per_text;
  if (size == 0 || size > static_cast<int64_t>(out.size())) return size;
  const encoders::EncoderResult r = run();
  e.truncated = r.truncated;
  const Tensor rows = r.rows.to(DType::f32);
  return copy_out<float>(rows.span<float>(), out.data(), size, "rows");
}

std::span<float> room(float* rows, int64_t capacity) {
  if (capacity <= 0) return {};
  return {&required(rows, "rows"), static_cast<size_t>(capacity)};
}

constexpr int64_t kAnyLength = int64_t{1} << 31;  // a word encoder cuts no text

int64_t width_of(const quern_encoder& e) { return e.text ? e.text->width() : e.words->width(); }

quern_encoder& with_head(quern_encoder* encoder) {
  quern_encoder& e = required(encoder, "encoder");
  if (!e.text || !e.text->scores())
    fail(
        "this encoder has no head for classification: it gives embeddings; load the folder of a reranker or "
        "classifier");
  return e;
}

}  // namespace
}  // namespace quern::capi

using namespace quern::capi;

extern "C" {

quern_encoder* quern_encoder_load(const char* folder, const char* format) {
  return guarded(static_cast<quern_encoder*>(nullptr), [&] {
    const std::string where(required(folder, "folder"));
    if (quern::encoders::is_word_encoder(where))
      return new quern_encoder{.words = quern::encoders::load_word_encoder(where)};
    if (!quern::encoders::is_encoder(where))
      quern::fail(
          "{}: no folder of an encoder: expected config.json of a BERT, DeBERTa-v2, ModernBERT or word-vectors "
          "model; "
          "quern_load reads language models",
          where);
    return new quern_encoder{.text = quern::encoders::TextEncoder::load(
                                 where, quern::kernels::parse_format(format ? format : "f32", "format"))};
  });
}

void quern_encoder_free(quern_encoder* encoder) { delete encoder; }

int64_t quern_encoder_info(const quern_encoder* encoder, char* buffer, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const quern_encoder& e = required(encoder, "encoder");
    quern::Json info = quern::Json::object(), labels = quern::Json::array();
    if (e.text)
      for (const std::string& label : e.text->labels()) labels.push(label);
    info.set("width", width_of(e)), info.set("max_tokens", e.text ? e.text->max_tokens() : kAnyLength);
    info.set("labels", std::move(labels));
    return copy_out(info.dump(), buffer, capacity, "buffer");
  });
}

int64_t quern_encoder_embed(quern_encoder* encoder, const char* texts, const int64_t* ends, int64_t n,
                            const char* role, float* rows, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    quern_encoder& e = required(encoder, "encoder");
    const quern::encoders::TextRole as = role_of(role);
    const std::vector<std::string> all = text_list<std::string>(texts, ends, n);
    return encode(e, n, width_of(e), room(rows, capacity), [&] {
      if (e.text) return e.text->embed(all, as);
      return quern::encoders::EncoderResult{.rows = quern::encoders::embed_texts(*e.words, all).rows};
    });
  });
}

int64_t quern_encoder_score(quern_encoder* encoder, const char* texts, const int64_t* ends, int64_t n, float* scores,
                            int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    quern_encoder& e = with_head(encoder);
    const std::vector<std::string> all = text_list<std::string>(texts, ends, n);
    return encode(e, n, e.text->encoder().labels(), room(scores, capacity), [&] { return e.text->score(all); });
  });
}

int64_t quern_encoder_score_pairs(quern_encoder* encoder, const char* texts, const int64_t* ends, int64_t n,
                                  float* scores, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    quern_encoder& e = with_head(encoder);
    const std::vector<std::string_view> all = text_list<std::string_view>(texts, ends, 2 * n);
    std::vector<quern::encoders::TextEncoder::Pair> pairs;
    for (size_t i = 0; i < all.size(); i += 2) pairs.push_back({.first = all[i], .second = all[i + 1]});
    return encode(e, n, e.text->encoder().labels(), room(scores, capacity),
                  [&] { return e.text->score_pairs(pairs); });
  });
}

int64_t quern_encoder_truncated(const quern_encoder* encoder) {
  return guarded(int64_t{-1}, [&] { return required(encoder, "encoder").truncated; });
}

}  // extern "C"

// Logits, token scores and embeddings of quern.h.
#include "quern/capi/handles.h"
#include "quern/infer/cache/session.h"
#include "quern/infer/scoring/mean_pooling.h"
#include "quern/models/token_ids.h"

using namespace quern::capi;

namespace {

constexpr int64_t kChunk = 256;

// Rows of logits in chunks, so that only one chunk of hidden states and logits is held beside the caller's buffer.
void logits_of(quern_model& m, std::span<const int32_t> ids, float* out) {
  quern::mixers::SequenceState state(m.model->sites(quern::DType::f32));
  for (size_t at = 0; at < ids.size(); at += kChunk) {
    const auto part = ids.subspan(at, std::min<size_t>(kChunk, ids.size() - at));
    quern::grad::Tape tape(quern::grad::Tape::inference);
    const auto batch = quern::mixers::Batch::resume({&state}, {static_cast<int64_t>(part.size())});
    const quern::grad::Var hidden = m.model->hidden(tape, part, batch);
    const quern::Tensor rows = m.model->logits(tape, hidden).value.to(quern::DType::f32);
    out = std::ranges::copy(rows.span<float>(), out).out;
  }
}

void check_context(const quern_model& m, std::span<const int32_t> ids) {
  const auto n = static_cast<int64_t>(ids.size());
  if (n > m.model->max_positions())
    quern::fail("{} tokens; this model's context is {} tokens", n, m.model->max_positions());
  quern::models::check_token_ids(ids, m.model->vocab_size());
}

}  // namespace

extern "C" {

int64_t quern_logits(quern_model* model, const int32_t* ids, int64_t n, float* logits, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    quern_model& m = required(model, "model");
    const auto all = required(ids, n, "ids");
    check_context(m, all);
    const int64_t size = n * m.model->vocab_size();
    if (size > 0 && size <= capacity) logits_of(m, all, &required(logits, "logits"));
    return size;
  });
}

int64_t quern_score(quern_model* model, const int32_t* ids, int64_t n, double* logprobs, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    quern_model& m = required(model, "model");
    const auto all = required(ids, n, "ids");
    if (n < 2) quern::fail("{} tokens: expected at least 2, the first is not scored", n);
    check_context(m, all);
    if (capacity < n - 1) return n - 1;
    quern::infer::Request r{.prompt = {all.begin(), all.end()}, .options = {.max_tokens = 0, .score_prompt = true}};
    return copy_out<double>(m.engine->run(std::move(r)).prompt_logprobs, logprobs, capacity, "logprobs");
  });
}

int64_t quern_embed(quern_model* model, const char* text, float* embedding, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    quern_model& m = required(model, "model");
    const auto ids = m.tokenizer.encode(required(text, "text"), {.parse_special = false});
    if (ids.empty()) quern::fail("text: found no tokens, expected a text that is not empty");
    check_context(m, ids);
    const auto embedding_of = [&](std::span<const int32_t> some) {
      quern::infer::MeanPooling pooling(*m.model);
      for (size_t at = 0; at < some.size(); at += kChunk)
        pooling.feed(*m.model, some.subspan(at, std::min<size_t>(kChunk, some.size() - at)));
      return pooling.embedding();
    };
    const auto dimension = static_cast<int64_t>(embedding_of(std::span(ids).first(1)).size());
    if (capacity < dimension) return dimension;
    return copy_out<float>(embedding_of(ids), embedding, capacity, "embedding");
  });
}

}  // extern "C"

// C interface over models, text and infer. Every call catches exceptions and returns them as messages.
#include <algorithm>
#include <cstring>
#include <string>

#include "quern/base/version.h"
#include "quern/capi/quern.h"
#include "quern/infer/engine/engine.h"
#include "quern/models/checkpoint.h"
#include "quern/nn/builtin_registry.h"
#include "quern/text/tokenizer/tokenizer.h"

struct quern_model {
  std::unique_ptr<quern::Model> model;
  quern::Tokenizer tokenizer;
  quern::GenerationConfig generation;
  quern::DType kv;
};

namespace {

thread_local std::string last_error;

// Runs body; on an exception notes it and returns `failed`.
template <class R, class F>
R guarded(R failed, F&& body) {
  try {
    last_error.clear();
    return body();
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
  } catch (const std::exception& e) {
    last_error = e.what();
  }
  return failed;
}

const char* required(const void* p, const char* what) {
  if (!p) quern::fail("{} is NULL", what);
  return static_cast<const char*>(p);
}

}  // namespace

extern "C" {

const char* quern_version(void) { return quern::version(); }
const char* quern_last_error(void) { return last_error.c_str(); }

quern_model* quern_load(const char* folder, const char* dtype) {
  return guarded(static_cast<quern_model*>(nullptr), [&] {
    quern::DType t = quern::parse_dtype(required(dtype, "dtype"));
    if (t != quern::DType::f32 && t != quern::DType::bf16) quern::fail("dtype '{}': expected f32 or bf16", dtype);
    std::filesystem::path dir(required(folder, "folder"));
    auto tokenizer = quern::load_tokenizer(dir);
    auto model = quern::load_model(quern::builtin_registry(), dir, {.dtype = t});
    return new quern_model{std::move(model), std::move(tokenizer), quern::load_generation_config(dir), t};
  });
}

void quern_free(quern_model* model) { delete model; }

int64_t quern_vocab_size(const quern_model* m) {
  return guarded(int64_t{-1}, [&] { return required(m, "model"), m->model->vocab_size(); });
}
int64_t quern_max_positions(const quern_model* m) {
  return guarded(int64_t{-1}, [&] { return required(m, "model"), m->model->max_positions(); });
}

int64_t quern_tokenize(const quern_model* m, const char* text, int add_special, int32_t* ids, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    required(m, "model");
    auto all = m->tokenizer.encode(required(text, "text"), {.add_special_tokens = add_special != 0});
    int64_t n = static_cast<int64_t>(all.size());
    if (capacity > 0)
      std::copy_n(all.begin(), std::min(n, capacity),
                  static_cast<int32_t*>(static_cast<void*>(const_cast<char*>(required(ids, "ids")))));
    return n;
  });
}

int64_t quern_detokenize(const quern_model* m, const int32_t* ids, int64_t n, char* text, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    required(m, "model");
    if (n > 0) required(ids, "ids");
    std::string s = m->tokenizer.decode({ids, static_cast<size_t>(std::max<int64_t>(n, 0))}, true);
    if (capacity > 0) {
      required(text, "text");
      size_t k = std::min(s.size(), static_cast<size_t>(capacity - 1));
      std::memcpy(text, s.data(), k);
      text[k] = 0;
    }
    return static_cast<int64_t>(s.size());
  });
}

quern_options quern_default_options(void) {
  const quern::GenerateOptions o;
  const quern::SamplingOptions& s = o.sampling;
  return {o.max_tokens, s.temperature, s.top_k, s.top_p, s.min_p, s.seed};
}

int64_t quern_generate(quern_model* m, const char* prompt, const quern_options* options, quern_on_text on_text,
                       void* user) {
  return guarded(int64_t{-1}, [&] {
    required(m, "model");
    quern_options given = options ? *options : quern_default_options();
    quern::Request r;
    r.prompt = m->tokenizer.encode(required(prompt, "prompt"), {});
    r.options.sampling = {given.temperature, given.top_k, given.top_p, given.min_p, given.seed};
    r.options.max_tokens = given.max_tokens;
    r.options.stop_ids = m->generation.eos_token_id;
    r.on_token = [&](const quern::Emitted& e) {
      return e.text.empty() || !on_text || on_text(e.text.data(), e.text.size(), user) == 0;
    };
    quern::Engine engine(*m->model, {.kv = m->kv, .cache_bytes = 0, .tokenizer = &m->tokenizer});
    return static_cast<int64_t>(engine.run(std::move(r)).tokens.size());
  });
}

}  // extern "C"

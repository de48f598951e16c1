// Library, model and text functions of quern.h.
#include "quern/base/threads.h"
#include "quern/base/version.h"
#include "quern/capi/handles.h"
#include "quern/capi/load_settings.h"
#include "quern/kernels/cpu/products.h"
#include "quern/models/context_length.h"
#include "quern/nn/builtin_registry.h"
#include "quern/text/chat/chat_prompt.h"

static_assert(QUERN_VERSION_MAJOR == QUERN_BUILD_MAJOR && QUERN_VERSION_MINOR == QUERN_BUILD_MINOR,
              "include/quern/quern.h states another version than project() in CMakeLists.txt");

namespace quern::capi {

std::string& last_error() {
  static thread_local std::string message;
  return message;
}

int64_t copy_out(std::string_view text, char* buffer, int64_t capacity, const char* name) {
  if (capacity > 0) {
    const size_t n = std::min(text.size(), static_cast<size_t>(capacity - 1));
    std::copy_n(text.data(), n, &required<char>(buffer, name));
    buffer[n] = 0;
  }
  return static_cast<int64_t>(text.size());
}

std::function<bool(const infer::Emitted&)> on_token_of(quern_on_text on_text, void* user) {
  return [=](const infer::Emitted& e) {
    return e.text.empty() || !on_text || on_text(e.text.data(), e.text.size(), user) == 0;
  };
}

namespace {

// Factors of adapters are as exact as the weights that they stand beside.
DType factors_beside(const models::LoadOptions& o) {
  const bool exact = o.scheme ? o.scheme->format == kernels::WeightFormat::f32 : o.dtype == DType::f32;
  return exact ? DType::f32 : DType::bf16;
}

quern_model* load(const std::filesystem::path& folder, const LoadSettings& settings) {
  // Chosen now and not at the first product: a process that is forked while another thread chooses would wait for it.
  kernels::bf16_products();
  models::LoadOptions options = settings.load_options();
  auto sites = options.adapter ? nullptr : std::make_unique<models::AdapterSites>(factors_beside(options));
  options.paths = sites.get();
  const DType kv = settings.weights.kv_type({});
  auto tokenizer = models::load_tokenizer(folder);
  auto model = models::load_model(nn::builtin_registry(), folder, options);
  auto chat_template = models::load_chat_template(folder, model->family());
  std::unique_ptr<quern_model> m(new quern_model{.folder = folder,
                                                 .adapter = options.adapter,
                                                 .weights = settings.weights.name(),
                                                 .sites = std::move(sites),
                                                 .model = std::move(model),
                                                 .tokenizer = std::move(tokenizer),
                                                 .generation = models::load_generation_config(folder),
                                                 .chat_template = std::move(chat_template),
                                                 .kv = kv});
  infer::EngineOptions engine = settings.engine;
  engine.kv = kv, engine.tokenizer = &m->tokenizer;
  m->engine = std::make_unique<infer::Engine>(*m->model, std::move(engine));
  return m.release();
}

}  // namespace
}  // namespace quern::capi

using namespace quern::capi;

extern "C" {

const char* quern_version(void) { return quern::version(); }
const char* quern_last_error(void) { return last_error().c_str(); }

int quern_set_threads(int threads) {
  return guarded(-1, [&] {
    if (threads < 1) quern::fail("threads {}: expected 1 or more", threads);
    quern::set_thread_count(threads);
    return 0;
  });
}

quern_model* quern_load(const char* folder, const char* format) {
  return guarded(static_cast<quern_model*>(nullptr), [&] {
    const std::string_view dir = required(folder, "folder");
    return load(dir, {.weights = {.format = std::string(required(format, "format"))}});
  });
}

quern_model* quern_load_with(const char* folder, const char* options_json) {
  return guarded(static_cast<quern_model*>(nullptr), [&] {
    const std::string_view dir = required(folder, "folder");
    LoadSettings settings;
    if (options_json)
      quern::from_json(quern::Json::parse(options_json, "options"), settings, "options", quern::UnknownKeys::refuse);
    return load(dir, settings);
  });
}

void quern_free(quern_model* model) { delete model; }

int64_t quern_vocab_size(const quern_model* m) {
  return guarded(int64_t{-1}, [&] { return required(m, "model").model->vocab_size(); });
}
int64_t quern_max_positions(const quern_model* m) {
  return guarded(int64_t{-1}, [&] { return quern::models::context_length(*required(m, "model").model); });
}

int64_t quern_tokenize(const quern_model* m, const char* text, int add_special, int32_t* ids, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const auto all =
        required(m, "model").tokenizer.encode(required(text, "text"), {.add_special_tokens = add_special != 0});
    return copy_out<int32_t>(all, ids, capacity, "ids");
  });
}

int64_t quern_detokenize(const quern_model* m, const int32_t* ids, int64_t n, char* text, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const quern_model& model = required(m, "model");
    const auto all_ids = required(ids, n, "ids");
    for (const int32_t id : all_ids)
      if (id < 0 || id >= model.tokenizer.vocab_size())
        quern::fail("token {}: ids run from 0 to {}", id, model.tokenizer.vocab_size() - 1);
    const std::string all = model.tokenizer.decode(all_ids, quern::text::SpecialTokens::skip);
    return copy_out(all, text, capacity, "text");
  });
}

int64_t quern_chat_prompt(const quern_model* m, const char* messages_json, const char* context_json, char* buffer,
                          int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const quern_model& model = required(m, "model");
    const quern::Json messages = quern::Json::parse(required(messages_json, "messages_json"), "messages");
    const quern::Json context = context_json ? quern::Json::parse(context_json, "context") : quern::Json();
    const std::string text = quern::text::chat_text(model.chat_template, model.tokenizer, messages, context);
    return copy_out(text, buffer, capacity, "buffer");
  });
}

quern_options quern_default_options(void) {
  const quern::infer::GenerateOptions o;
  const quern::infer::SamplingOptions& s = o.sampling;
  return {o.max_tokens, s.temperature, s.top_k, s.top_p, s.min_p, s.seed};
}

int64_t quern_generate(quern_model* m, const char* prompt, const quern_options* options, quern_on_text on_text,
                       void* user) {
  return guarded(int64_t{-1}, [&] {
    required(m, "model");
    const quern_options given = options ? *options : quern_default_options();
    quern::infer::Request r;
    r.prompt = m->tokenizer.encode(required(prompt, "prompt"), {});
    r.options.sampling = {.temperature = given.temperature,
                          .top_k = given.top_k,
                          .top_p = given.top_p,
                          .min_p = given.min_p,
                          .seed = given.seed};
    r.options.max_tokens = given.max_tokens;
    r.options.stop_ids = m->generation.eos_token_id;
    r.on_token = on_token_of(on_text, user);
    quern::infer::Engine engine(*m->model, {.kv = m->kv, .cache_bytes = 0, .tokenizer = &m->tokenizer});
    return static_cast<int64_t>(engine.run(std::move(r)).tokens.size());
  });
}

}  // extern "C"

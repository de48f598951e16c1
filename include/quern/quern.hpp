// Quern's C++ interface (C++20): owning classes, exceptions and standard containers over the C interface of quern.h.
//
//   quern::Model model("ZAYA1-8B", {.format = "q8"});
//   quern::Session chat(model);
//   chat.add("user", "What is a quern?");
//   std::cout << chat.reply().text;
//
// Everything here is inline: a program depends on the C symbols of libquern.so alone, so any C++20 compiler and any
// standard library will do. Ownership, threads and option names are those of quern.h. Failures throw quern::Error.
#ifndef QUERN_HPP
#define QUERN_HPP

#include <quern/quern.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline std::string version() { return quern_version(); }

// Called with each piece of text as it becomes complete; false stops. What it throws, the generating call throws: after
// generate the session keeps what was generated until then, after reply its messages are unchanged.
using OnText = std::function<bool(std::string_view piece)>;

struct LoadOptions {
  std::string format = "bf16";              // f32, bf16, or quantized at load: q8, q4, q8a8
  std::optional<std::string> head = {};     // with a quantized format: format of embedding and LM head
  std::optional<std::string> kv = {};       // KV cache type: f32, bf16 or q8
  std::optional<std::string> adapter = {};  // folder of a LoRA adapter (PEFT)
  std::int64_t cache_mib = 1024;            // size of the prefix cache, which holds the state of sessions
};

struct Message {
  std::string role, content;
};

struct Generation {
  std::string text;
  std::int64_t tokens = 0;
};

struct Logits {  // [tokens, vocab]
  std::vector<float> values;
  std::int64_t vocab = 0;
  std::span<const float> row(std::size_t token) const {
    return std::span(values).subspan(token * static_cast<std::size_t>(vocab), static_cast<std::size_t>(vocab));
  }
};

namespace detail {

inline std::int64_t check(std::int64_t result) {
  if (result < 0) throw Error(quern_last_error());
  return result;
}
template <class T>
T* check(T* handle) {
  if (!handle) throw Error(quern_last_error());
  return handle;
}

// The text that call(buffer, capacity) writes.
template <class Call>
std::string text(Call&& call) {
  std::string out(4096, '\0');
  std::int64_t n = check(call(out.data(), static_cast<std::int64_t>(out.size())));
  if (n >= static_cast<std::int64_t>(out.size())) {
    out.resize(static_cast<std::size_t>(n) + 1);
    n = check(call(out.data(), n + 1));
  }
  out.resize(static_cast<std::size_t>(n));
  return out;
}
// The values that call(pointer, capacity) writes.
template <class T, class Call>
std::vector<T> values(Call&& call) {
  std::vector<T> out(static_cast<std::size_t>(check(call(static_cast<T*>(nullptr), std::int64_t{0}))));
  if (!out.empty()) check(call(out.data(), static_cast<std::int64_t>(out.size())));
  return out;
}

inline std::string json_string(std::string_view text) {  // as JSON
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr const char* kDigits = "0123456789abcdef";
      out += "\\u00", out += kDigits[c >> 4], out += kDigits[c & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}
inline std::string json(const LoadOptions& o) {
  std::string out = "{\"format\":" + json_string(o.format) + ",\"cache_mib\":" + std::to_string(o.cache_mib);
  if (o.head) out += ",\"head\":" + json_string(*o.head);
  if (o.kv) out += ",\"kv\":" + json_string(*o.kv);
  if (o.adapter) out += ",\"adapter\":" + json_string(*o.adapter);
  return out + "}";
}
inline std::string json(std::span<const Message> messages) {
  std::string out = "[";
  for (const Message& m : messages) {
    if (out.size() > 1) out += ',';
    out += "{\"role\":" + json_string(m.role) + ",\"content\":" + json_string(m.content) + "}";
  }
  return out + "]";
}

// Collects the text of a generation; no exception of the caller's passes through C.
struct Collector {
  const OnText& on_text;
  std::string text = {};
  std::exception_ptr thrown = {};
  static int call(const char* piece, std::size_t length, void* self) {
    auto& c = *static_cast<Collector*>(self);
    try {
      c.text.append(piece, length);
      return c.on_text && !c.on_text({piece, length});
    } catch (...) {
      c.thrown = std::current_exception();
      return 1;
    }
  }
};

// Likewise of a build's progress; nothing is called after an exception.
struct ProgressCall {
  const std::function<void(std::string_view, double)>& on_progress;
  std::exception_ptr thrown = {};
  static void call(const char* stage, double share, void* self) {
    auto& c = *static_cast<ProgressCall*>(self);
    if (c.thrown || !c.on_progress) return;
    try {
      c.on_progress(stage, share);
    } catch (...) {
      c.thrown = std::current_exception();
    }
  }
};

template <auto free>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    free(handle);
  }
};
template <class T, auto free>
using Handle = std::unique_ptr<T, Free<free>>;

}  // namespace detail

// Threads that computations use. Call it while no model is in use.
inline void set_threads(int threads) { detail::check(quern_set_threads(threads)); }

struct TokenizeOptions {
  bool add_special = true;  // add what the tokenizer puts around a text (<bos>)
};

class Model {
 public:
  // A model folder, a quantized folder or a .gguf file.
  explicit Model(const std::filesystem::path& folder, const LoadOptions& options = {})
      : handle_(detail::check(quern_load_with(folder.c_str(), detail::json(options).c_str()))) {}

  std::int64_t vocab_size() const { return detail::check(quern_vocab_size(handle())); }
  std::int64_t max_positions() const { return detail::check(quern_max_positions(handle())); }

  std::vector<std::int32_t> tokenize(const std::string& text, const TokenizeOptions& options = {}) const {
    return detail::values<std::int32_t>([&](std::int32_t* ids, std::int64_t n) {
      return quern_tokenize(handle(), text.c_str(), options.add_special, ids, n);
    });
  }
  std::string detokenize(std::span<const std::int32_t> ids) const {
    return detail::text([&](char* out, std::int64_t n) {
      return quern_detokenize(handle(), ids.data(), static_cast<std::int64_t>(ids.size()), out, n);
    });
  }
  // The messages as the chat template renders them, up to where the assistant's reply begins.
  std::string chat_prompt(std::span<const Message> messages) const {
    const std::string json = detail::json(messages);
    return detail::text(
        [&](char* out, std::int64_t n) { return quern_chat_prompt(handle(), json.c_str(), nullptr, out, n); });
  }

  // Logits after each token, computed from an empty state.
  Logits logits(std::span<const std::int32_t> ids) {
    return {detail::values<float>([&](float* out, std::int64_t n) {
              return quern_logits(handle(), ids.data(), static_cast<std::int64_t>(ids.size()), out, n);
            }),
            vocab_size()};
  }
  // Log-probability of each token but the first, given the tokens before it.
  std::vector<double> score(std::span<const std::int32_t> ids) {
    return detail::values<double>([&](double* out, std::int64_t n) {
      return quern_score(handle(), ids.data(), static_cast<std::int64_t>(ids.size()), out, n);
    });
  }
  // Mean of the last hidden states, normalized to length 1.
  std::vector<float> embed(const std::string& text) {
    return detail::values<float>(
        [&](float* out, std::int64_t n) { return quern_embed(handle(), text.c_str(), out, n); });
  }

  quern_model* handle() const { return handle_.get(); }

 private:
  detail::Handle<quern_model, quern_free> handle_;
};

// Generation options by name; quern_sampling_set lists them.
class Sampling {
 public:
  explicit Sampling(Model& model) : handle_(detail::check(quern_sampling_new(model.handle()))) {}
  Sampling& set(const std::string& name, const std::string& value) {
    detail::check(quern_sampling_set(handle(), name.c_str(), value.c_str()));
    return *this;
  }
  quern_sampling* handle() const { return handle_.get(); }

 private:
  detail::Handle<quern_sampling, quern_sampling_free> handle_;
};

// Tokens whose KV cache and recurrent state are kept, and a chat of messages on top of them.
class Session {
 public:
  explicit Session(Model& model) : handle_(detail::check(quern_session_new(model.handle()))) {}
  Session fork() const { return Session(detail::check(quern_session_fork(handle()))); }
  void reset() { quern_session_reset(handle()); }

  void append(const std::string& text) { detail::check(quern_session_append(handle(), text.c_str())); }
  void append(std::span<const std::int32_t> ids) {
    detail::check(quern_session_append_tokens(handle(), ids.data(), static_cast<std::int64_t>(ids.size())));
  }
  std::int64_t length() const { return detail::check(quern_session_length(handle())); }  // in tokens
  std::vector<std::int32_t> tokens() const {
    return detail::values<std::int32_t>(
        [&](std::int32_t* ids, std::int64_t n) { return quern_session_tokens(handle(), ids, n); });
  }
  std::int64_t prefill() { return detail::check(quern_session_prefill(handle())); }
  std::vector<float> logits() {  // after the last token
    return detail::values<float>([&](float* out, std::int64_t n) { return quern_session_logits(handle(), out, n); });
  }

  Generation generate(const OnText& on_text = {}) { return generate(quern_session_generate, nullptr, on_text); }
  Generation generate(const Sampling& sampling, const OnText& on_text = {}) {
    return generate(quern_session_generate, sampling.handle(), on_text);
  }
  // Ends the generate or reply call that runs in another thread.
  void cancel() { quern_session_cancel(handle()); }
  // Text, tokens, log-probabilities and times of the last generation, as JSON.
  std::string result() const {
    return detail::text([&](char* out, std::int64_t n) { return quern_session_result(handle(), out, n); });
  }

  void add(const std::string& role, const std::string& content) {
    detail::check(quern_chat_add(handle(), role.c_str(), content.c_str()));
  }
  void set_messages(std::span<const Message> messages) {
    detail::check(quern_chat_set(handle(), detail::json(messages).c_str()));
  }
  std::string messages() const {  // as JSON
    return detail::text([&](char* out, std::int64_t n) { return quern_chat_messages(handle(), out, n); });
  }
  Generation reply(const OnText& on_text = {}) { return reply(nullptr, on_text); }
  Generation reply(const Sampling& sampling, const OnText& on_text = {}) { return reply(sampling.handle(), on_text); }

  void save(const std::filesystem::path& file) { detail::check(quern_session_save(handle(), file.c_str())); }
  void load(const std::filesystem::path& file) { detail::check(quern_session_load(handle(), file.c_str())); }

  quern_session* handle() const { return handle_.get(); }

 private:
  explicit Session(quern_session* handle) : handle_(handle) {}
  template <class Call>
  Generation generate(Call call, const quern_sampling* sampling, const OnText& on_text) {
    detail::Collector c{.on_text = on_text};
    const std::int64_t n = call(handle(), sampling, detail::Collector::call, &c);
    if (c.thrown) std::rethrow_exception(c.thrown);
    return {std::move(c.text), detail::check(n)};
  }
  // quern_chat_reply is only told to stop when the callback throws, and adds the reply: the messages are put back.
  Generation reply(const quern_sampling* sampling, const OnText& on_text) {
    const std::string before = on_text ? messages() : std::string();
    const auto call = [&](quern_session* session, const quern_sampling* options, quern_on_text collect, void* self) {
      const std::int64_t n = quern_chat_reply(session, options, collect, self);
      if (static_cast<detail::Collector*>(self)->thrown) detail::check(quern_chat_set(session, before.c_str()));
      return n;
    };
    return generate(call, sampling, on_text);
  }
  detail::Handle<quern_session, quern_session_free> handle_;
};

// A search index in a folder: BM25 and personalized PageRank.
class Index {
 public:
  explicit Index(const std::filesystem::path& folder) : handle_(detail::check(quern_index_open(folder.c_str()))) {}
  void put(const std::string& name, const std::string& text) {
    detail::check(quern_index_put(handle_.get(), name.c_str(), text.c_str()));
  }
  // Text files in and below a path. Returns the number of documents in the index.
  std::int64_t add(const std::filesystem::path& path) {
    return detail::check(quern_index_add(handle_.get(), path.c_str()));
  }
  std::string search(const std::string& question, std::int64_t k = 10) const {  // the best chunks, as JSON
    return detail::text(
        [&](char* out, std::int64_t n) { return quern_index_search(handle_.get(), question.c_str(), k, out, n); });
  }

 private:
  detail::Handle<quern_index, quern_index_free> handle_;
};

// Long-term conversation memory with temporal queries, in a file.
class Memory {
 public:
  explicit Memory(const std::filesystem::path& file, const std::string& conversation = "main",
                  const std::string& zone = "UTC")
      : handle_(detail::check(quern_memory_open(file.c_str(), conversation.c_str(), zone.c_str()))) {}
  std::int64_t add(const std::string& speaker, const std::string& text, std::int64_t unix_time) {
    return detail::check(quern_memory_add(handle_.get(), speaker.c_str(), text.c_str(), unix_time));
  }
  // The turns that answer it, as JSON; asker: the speaker that "I" is, empty: nobody.
  std::string ask(const std::string& question, std::int64_t unix_time, const std::string& asker = {}) {
    return detail::text([&](char* out, std::int64_t n) {
      return quern_memory_ask(handle_.get(), question.c_str(), asker.empty() ? nullptr : asker.c_str(), unix_time,
                              out, n);
    });
  }

 private:
  detail::Handle<quern_memory, quern_memory_free> handle_;
};

// A tokenizer without a model: a tokenizer.json, or the one of a model folder. Any thread may use it.
class Tokenizer {
 public:
  explicit Tokenizer(const std::filesystem::path& path)
      : handle_(detail::check(quern_tokenizer_load(path.c_str()))) {}
  std::int64_t vocab_size() const { return detail::check(quern_tokenizer_vocab_size(handle_.get())); }
  std::vector<std::int32_t> encode(const std::string& text, const TokenizeOptions& options = {}) const {
    return detail::values<std::int32_t>([&](std::int32_t* ids, std::int64_t n) {
      return quern_tokenizer_encode(handle_.get(), text.c_str(), options.add_special, ids, n);
    });
  }
  std::string decode(std::span<const std::int32_t> ids) const {
    return detail::text([&](char* out, std::int64_t n) {
      return quern_tokenizer_decode(handle_.get(), ids.data(), static_cast<std::int64_t>(ids.size()), out, n);
    });
  }

 private:
  detail::Handle<quern_tokenizer, quern_tokenizer_free> handle_;
};

// A training recipe (TOML), with fields changed by key: set("phase.0.batch_size", "8").
class TrainRecipe {
 public:
  explicit TrainRecipe(std::filesystem::path file) : file_(std::move(file)) {}
  TrainRecipe& set(const std::string& key, const std::string& value) {
    settings_.push_back(key + "=" + value);
    return *this;
  }
  const std::filesystem::path& file() const { return file_; }
  std::span<const std::string> settings() const { return settings_; }

 private:
  std::filesystem::path file_;
  std::vector<std::string> settings_;
};

struct TrainOptions {
  std::filesystem::path out;
  bool resume = false;  // from the newest checkpoint in `out`
};

// A training run in its folder.
//
//   quern::Trainer trainer(quern::TrainRecipe("nano.toml"), {.out = "runs/nano"});
//   while (trainer.step()) std::cout << trainer.metric("loss") << '\n';
//   trainer.export_model("nano");
class Trainer {
 public:
  Trainer(const TrainRecipe& recipe, const TrainOptions& options)
      : handle_(detail::check(quern_trainer_new(recipe.file().c_str(), json(recipe, options).c_str()))) {}
  std::int64_t steps() const { return detail::check(quern_trainer_steps(handle_.get())); }        // of the recipe
  std::int64_t finished() const { return detail::check(quern_trainer_finished(handle_.get())); }  // steps done
  bool step() { return detail::check(quern_trainer_step(handle_.get())) > 0; }  // false: the recipe is done
  double metric(const std::string& name) const {                                // of the last step
    double value = 0;
    detail::check(quern_trainer_metric(handle_.get(), name.c_str(), &value));
    return value;
  }
  void checkpoint() { detail::check(quern_trainer_checkpoint(handle_.get())); }
  void export_model(const std::filesystem::path& folder, const std::string& dtype = "bf16") {
    detail::check(quern_trainer_export(handle_.get(), folder.c_str(), dtype.c_str()));
  }

 private:
  static std::string json(const TrainRecipe& recipe, const TrainOptions& options) {
    std::string set;
    for (const std::string& s : recipe.settings()) set += (set.empty() ? "" : ",") + detail::json_string(s);
    return "{\"out\":" + detail::json_string(options.out.string()) + ",\"set\":[" + set +
           "],\"resume\":" + (options.resume ? "true" : "false") + "}";
  }
  detail::Handle<quern_trainer, quern_trainer_free> handle_;
};

// The stage of a build and its share that is done, 0 to 1. What it throws, build() throws when the build is done.
using OnProgress = std::function<void(std::string_view stage, double share)>;

// A corpus recipe (TOML): sources, filters, deduplication, mixture, token shards.
class CorpusRecipe {
 public:
  explicit CorpusRecipe(std::filesystem::path file) : file_(std::move(file)) {}
  // Builds the corpus in a folder, resuming what was killed there; manifest.json says what was kept and why. Returns
  // the number of documents that deduplication kept.
  std::int64_t build(const std::filesystem::path& out, const OnProgress& on_progress = {}) const {
    detail::ProgressCall call{.on_progress = on_progress};
    const std::string options = "{\"out\":" + detail::json_string(out.string()) + "}";
    const std::int64_t kept = quern_corpus_build(file_.c_str(), options.c_str(), detail::ProgressCall::call, &call);
    detail::check(kept);
    if (call.thrown) std::rethrow_exception(call.thrown);
    return kept;
  }

 private:
  std::filesystem::path file_;
};

}  // namespace quern

#endif

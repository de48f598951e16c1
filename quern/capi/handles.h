// What is behind the handles of quern.h, and how every function of it begins: guarded() turns exceptions into messages
// of quern_last_error(), required() refuses NULL, and copy_out() writes into the caller's buffer.
#pragma once
#include <quern/quern.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/error.h"
#include "quern/infer/engine/engine.h"
#include "quern/infer/sampling/grammar_constraint.h"
#include "quern/models/adapter_sites.h"
#include "quern/models/checkpoint.h"
#include "quern/serve/tools/constraint_fields.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/tokenizer.h"

struct quern_model {
  std::filesystem::path folder;
  std::optional<std::filesystem::path> adapter;
  std::string weights;                                 // how they are kept, for the fingerprint of saved sessions
  std::unique_ptr<quern::models::AdapterSites> sites;  // where adapters may stand; null: they may not
  std::unique_ptr<quern::models::Model> model;
  quern::text::Tokenizer tokenizer;
  quern::models::GenerationConfig generation;
  quern::text::ChatTemplate chat_template;
  quern::DType kv;
  std::unique_ptr<quern::infer::Engine> engine = {};          // of all sessions
  std::shared_ptr<const quern::text::TokenTrie> tokens = {};  // for grammars; made when first needed
  std::string fingerprint = {};                               // likewise
  quern::serve::ConstraintCache call_grammars = {};           // of tools that have to be called
};

struct quern_adapter {
  const quern_model* model;
  std::shared_ptr<const quern::nn::AdapterPaths> paths;
};

struct quern_sampling {
  quern_model* model;
  quern::infer::GenerateOptions options = {};
  std::set<std::string> given = {};  // names of lists that were set
  std::optional<quern::infer::GrammarSource> grammar = {};
};

namespace quern::capi {
struct Running;
void drop_running(quern_session& s) noexcept;
}  // namespace quern::capi

struct quern_session {
  quern_model* model;
  std::vector<int32_t> tokens = {};
  quern::Json messages = quern::Json::array();  // in the OpenAI form
  quern::Json setup = quern::Json::object();    // tools and what else the chat template is given
  std::optional<quern::infer::Generated> last = {};
  quern::Json reply = {};                              // the message of the last reply
  std::shared_ptr<quern::capi::Running> running = {};  // what was started and has not ended
  std::string text = {}, reasoning = {};               // of what was started: not yet handed out
  std::atomic<bool> cancelled = false;
  explicit quern_session(quern_model* m) : model(m) {}
  ~quern_session() { quern::capi::drop_running(*this); }
  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
};

namespace quern::capi {

std::string& last_error();  // of this thread

// Runs body; on an exception keeps its message and returns `failed`.
template <class R, class F>
R guarded(R failed, F&& body) {
  try {
    last_error().clear();
    return body();
  } catch (const std::bad_alloc&) {
    last_error() = "out of memory";
  } catch (const std::exception& e) {
    last_error() = e.what();
  } catch (...) {  // a callback in C++ threw something else
    last_error() = "an exception of unknown type";
  }
  return failed;
}

template <class T>
T& required(T* p, const char* name) {
  if (!p) fail("{} is NULL", name);
  return *p;
}
inline std::string_view required(const char* text, const char* name) {
  if (!text) fail("{} is NULL", name);
  return text;
}
// n values of the caller's; NULL is fine for none.
template <class T>
std::span<const T> required(const T* p, int64_t n, const char* name) {
  if (n < 0) fail("{}: {} of them, expected 0 or more", name, n);
  if (n > 0 && !p) fail("{} is NULL", name);
  return {p, static_cast<size_t>(n)};
}

// Writes at most `capacity` values and returns how many there are.
template <class T>
int64_t copy_out(std::span<const T> all, T* out, int64_t capacity, const char* name) {
  const size_t n = std::min(all.size(), static_cast<size_t>(std::max<int64_t>(capacity, 0)));
  if (n > 0) std::copy_n(all.data(), n, &required(out, name));
  return static_cast<int64_t>(all.size());
}
// Writes at most `capacity` bytes, the final NUL included, and returns the length without it.
int64_t copy_out(std::string_view text, char* buffer, int64_t capacity, const char* name);

// A new quern_sampling's options: the model's generation_config.json, or greedy decoding.
infer::GenerateOptions default_options(const quern_model& m);
// The options of one generation. The thinking that a chat prompt opened comes before what a grammar constrains.
infer::GenerateOptions options_of(const quern_sampling* sampling, const quern_model& m, infer::ThinkStart start);

// A request's callback of on_text, which may be null.
std::function<bool(const infer::Emitted&)> on_token_of(quern_on_text on_text, void* user);

}  // namespace quern::capi

// Moves sessions between the prefix cache and files.
#include "quern/serve/keep/session_files.h"

#include <algorithm>
#include <cctype>
#include <chrono>

#include "quern/infer/cache/state_file.h"
#include "quern/serve/chat/chat_request.h"
#include "quern/serve/chat/request_streams.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

constexpr const char* kEnding = ".session";
constexpr size_t kLongestName = 64;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

bool is_name_letter(unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; }
bool is_owner_letter(unsigned char c) { return is_name_letter(c) || c == '@'; }  // as names of keys have them
bool good_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && std::ranges::all_of(name, is_name_letter);
}

// What a caller calls the session of a file; nothing where it does not reach it.
std::optional<std::string> shown_name(const std::string& stem, const Caller& who) {
  const size_t at = stem.rfind('@');
  const std::string owner = at == stem.npos ? "" : stem.substr(0, at),
                    own = at == stem.npos ? stem : stem.substr(at + 1);
  if (owner == who.owner()) return own;
  if (!who.reaches_all()) return std::nullopt;
  return owner + "@" + own;
}

// The tokens a session stands for, and what to hand back with it.
std::vector<int32_t> read_tokens(const ServedModel& m, const Json& body, Json& note) {
  const Fields f(body);
  const auto prompt = f.text("prompt");
  if (prompt.has_value() == (f.find("messages") != nullptr)) bad_field("messages", "expected them, or a prompt");
  if (prompt) {
    note.set("prompt", *prompt);
    return m.tokenizer.encode(*prompt, {});
  }
  Json asked = body;
  const Json* kwargs = f.find("chat_template_kwargs");
  Json more = kwargs && kwargs->is_object() ? *kwargs : Json::object();
  more.set("add_generation_prompt", false);  // the next turn is a user's
  asked.set("chat_template_kwargs", std::move(more));
  ChatRequest r;
  const text::PromptText rendered = render_chat(m, Fields(asked), r);
  note.set("messages", *body.find("messages"));
  return rendered.encode(m.tokenizer);
}

[[noreturn]] void does_not_fit(int status, int64_t n, const infer::PrefixCache& cache) {
  throw ApiError(
      status, status < 500 ? "invalid_request_error" : "server_error", "",
      fmt::format("a session of {} tokens does not fit in the prefix cache of {} MiB", n, cache.budget() >> 20));
}

// Has the engine read what the cache does not know; false: the client is gone.
bool read_through(ServedModel& m, const std::vector<int32_t>& tokens, Exchange& e) {
  RequestStreams answers(*m.host, e);
  const auto answer =
      answers.add({.prompt = tokens, .options = {.max_tokens = 1, .adapters = m.adapters}}, {.streams = false});
  if (!answers.follow(nullptr, {})) return false;
  if (answer->result().finish == "error") throw ApiError(503, "server_error", "", answer->result().error);
  return true;
}

}  // namespace

SessionFiles::SessionFiles(std::filesystem::path folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::create_directories(folder_, error)) fs::permissions(folder_, fs::perms::owner_all, error);
  if (!fs::is_directory(folder_)) fail("{}: expected a folder for sessions", folder_.string());
  std::vector<fs::path> left;  // by saves that were cut off
  for (const auto& f : fs::directory_iterator(folder_))
    if (f.path().filename().string().find(std::string(kEnding) + ".part") != std::string::npos)
      left.push_back(f.path());
  for (const fs::path& f : left) fs::remove_all(f, error);
}

std::filesystem::path SessionFiles::file(const std::string& name, const Caller& who) const {
  if (folder_.empty())
    throw ApiError(400, "invalid_request_error", "unsupported_parameter",
                   "this server saves no sessions: it was started without a folder for them");
  std::string owner = who.owner(), own = name;
  if (const size_t at = name.rfind('@'); at != name.npos && who.reaches_all() && at <= kLongestName)
    owner = name.substr(0, at), own = name.substr(at + 1);
  if (!good_name(own) || !std::ranges::all_of(owner, is_owner_letter))
    bad_field("name", "'{}': expected 1 to {} letters, digits, '-', '_' or '.', a dot not first", name, kLongestName);
  return folder_ / ((owner.empty() ? own : owner + "@" + own) + kEnding);
}

std::filesystem::path SessionFiles::existing(const std::string& name, const Caller& who) const {
  std::filesystem::path path = file(name, who);
  if (!std::filesystem::is_regular_file(path))
    throw ApiError(404, "invalid_request_error", "", fmt::format("there is no session '{}' here", name));
  return path;
}

Json SessionFiles::save(const std::string& name, ServedModel& m, const Json& body, Exchange& e) const {
  const std::filesystem::path path = file(name, e.caller);
  const auto started = Clock::now();
  Json note = Json::object();
  std::vector<int32_t> tokens = read_tokens(m, body, note);
  const auto n = static_cast<int64_t>(tokens.size());
  if (n < 2) bad_field("messages", "{} tokens, too few to keep", n);
  token_budget(m, tokens.size(), 1, "max_tokens");
  const std::string variant = nn::choice_key(m.adapters);
  std::unique_ptr<mixers::SequenceState> state;
  auto take = [&] {  // what the cache can resume of them
    m.host->between_steps([&](models::Model&, infer::PrefixCache& cache) {
      if (!cache.takes(n)) does_not_fit(400, n, cache);
      state = std::make_unique<mixers::SequenceState>(cache.sites());
      cache.resume({tokens, variant}, n, *state);
    });
    return state->length();
  };
  const int64_t known = take();
  if (known < n) {
    if (!read_through(m, tokens, e)) return {};
    take();
  }
  if (state->length() == 0)
    throw ApiError(503, "server_error", "", "others pushed this session out of the prefix cache; try again");
  tokens.resize(static_cast<size_t>(state->length()));
  note.set("model", m.id), note.set("created", unix_time());
  try {
    infer::save_state(path, m.fingerprint, tokens, *state, note.dump());
  } catch (const Error& error) {
    throw ApiError(507, "server_error", "", error.what());
  }
  Json j = facts(name, e.caller);
  j.set("prompt_tokens", n), j.set("cached_tokens", known), j.set("seconds", since(started));
  return j;
}

std::string SessionFiles::model_of(const std::string& name, const Caller& who) const {
  return Json::parse(infer::read_state_facts(existing(name, who)).note).at("model").as_string("model of a session");
}

Json SessionFiles::restore(const std::string& name, ServedModel& m, const Caller& who) const {
  const auto started = Clock::now();
  const std::filesystem::path path = existing(name, who);
  std::vector<mixers::StateSite> sites;
  m.host->between_steps([&](models::Model&, infer::PrefixCache& cache) { sites = cache.sites(); });
  const infer::SavedState saved = infer::load_state(path, m.fingerprint, sites);
  const auto n = static_cast<int64_t>(saved.tokens.size());
  m.host->between_steps([&](models::Model&, infer::PrefixCache& cache) {
    if (!cache.takes(n)) does_not_fit(503, n, cache);
    cache.store({saved.tokens, nn::choice_key(m.adapters)}, saved.state, infer::SnapshotKind::turn_end);
  });
  Json j = facts(name, who);
  const Json note = Json::parse(saved.note);
  for (const char* what : {"messages", "prompt"})
    if (const Json* v = note.find(what)) j.set(what, *v);
  j.set("seconds", since(started));
  return j;
}

Json SessionFiles::facts(const std::string& name, const Caller& who) const {
  const std::filesystem::path path = existing(name, who);
  const infer::StateFileFacts f = infer::read_state_facts(path);
  const Json note = Json::parse(f.note);
  Json j = Json::object();
  j.set("object", "session"), j.set("name", name), j.set("model", note.at("model"));
  j.set("created", note.at("created")), j.set("tokens", f.tokens);
  j.set("bytes", static_cast<int64_t>(std::filesystem::file_size(path)));
  return j;
}

Json SessionFiles::list(const Caller& who) const {
  file("any", who);  // or the error that there are none
  std::vector<std::string> names;
  for (const auto& f : std::filesystem::directory_iterator(folder_))
    if (f.path().extension() == kEnding)
      if (auto name = shown_name(f.path().stem().string(), who)) names.push_back(std::move(*name));
  std::sort(names.begin(), names.end());
  Json j = Json::object(), data = Json::array();
  for (const std::string& name : names) {
    try {
      data.push(facts(name, who));
    } catch (const Error& e) {  // a file that is no session: named, not hidden
      Json bad = Json::object();
      bad.set("object", "session"), bad.set("name", name), bad.set("error", e.what());
      data.push(std::move(bad));
    }
  }
  j.set("object", "list"), j.set("data", std::move(data));
  return j;
}

Json SessionFiles::erase(const std::string& name, const Caller& who) const {
  std::filesystem::remove(existing(name, who));
  Json j = Json::object();
  j.set("name", name), j.set("object", "session"), j.set("deleted", true);
  return j;
}

}  // namespace quern::serve

// Moves a chat between the engine's prefix cache and a state file.
#include "apps/quern/run/chat_file.h"

#include "quern/infer/cache/state_file.h"

namespace quern::cli {

void ChatFile::restore(infer::Engine& engine, infer::Chat& chat) const {
  const infer::SavedState saved = infer::load_state(path_, model_, engine.cache().sites());
  chat.set_messages(Json::parse(saved.note, path_.string()).at("messages", path_.string()));
  const auto n = static_cast<int64_t>(saved.tokens.size());
  if (!engine.cache().takes(n)) {
    fmt::print(stderr, "{}: {} tokens do not fit in the prefix cache and will be recomputed\n", path_.string(), n);
    return;
  }
  engine.cache().store(saved.tokens, saved.state, infer::SnapshotKind::turn_end);
  fmt::print(stderr, "{}: resumed a chat of {} tokens\n", path_.string(), n);
}

void ChatFile::save(infer::Engine& engine, const infer::Chat& chat) const {
  Json note = Json::object();
  note.set("messages", chat.messages());
  if (note.at("messages").as_array().empty()) return;
  std::vector<int32_t> tokens = chat.tokens();
  mixers::SequenceState state(engine.cache().sites());
  engine.cache().resume(tokens, static_cast<int64_t>(tokens.size()), state);
  tokens.resize(static_cast<size_t>(state.length()));
  infer::save_state(path_, model_, tokens, state, note.dump());
}

}  // namespace quern::cli

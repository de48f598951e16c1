// Saves a sequence's state to a file: its tokens and every part its sites declare, in safetensors, with the model's
// fingerprint and a checksum. A restored sequence continues bit-identically. Reads only StateSpec. Loading fails with
// the reason if the file belongs to another model, state layout or KV cache type, or if a byte was changed.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "quern/mixers/state.h"

namespace quern::infer {

struct SavedState {
  std::vector<int32_t> tokens;
  mixers::SequenceState state;
  std::string note;  // free text of the caller
};

// Written to PATH.part… and renamed, readable by its owner only at all times: it contains a conversation.
void save_state(const std::filesystem::path& path, const std::string& model, std::span<const int32_t> tokens,
                const mixers::SequenceState& state, const std::string& note);
SavedState load_state(const std::filesystem::path& path, const std::string& model,
                      const std::vector<mixers::StateSite>& sites);

struct StateFileFacts {  // from the header alone
  std::string model, note;
  int64_t tokens = 0;
};
StateFileFacts read_state_facts(const std::filesystem::path& path);

}  // namespace quern::infer

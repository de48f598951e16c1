// Whose turns a question asks for: the one who speaks in it. "What did Ada tell Ben?" asks for Ada's, "how did Ben
// answer Ada?" for Ben's, "what did Ada and Ben say?" for nobody's in particular.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::memory {

// `asker`: who "I" is, empty when that is not known.
std::optional<int32_t> speaker_meant(std::string_view question, const std::vector<std::string>& speakers,
                                     const std::string& asker);
// "everything except Ada's messages", "everyone but Ada": who is left out, and where that stands, up to the name. Of two
// speakers the other one is meant, and speaker_meant() names him.
struct SpeakerLeftOut {
  int32_t speaker;
  size_t begin, end;
};
std::optional<SpeakerLeftOut> speaker_left_out(std::string_view question, const std::vector<std::string>& speakers);
// "what did they both say": of all, and of nobody in particular.
bool speaks_of_all(std::string_view question);

// The question with slips in speakers' names put right ("Nroa", "Fellix"), each with a note.
std::string with_names_mended(std::string_view question, const std::vector<std::string>& speakers,
                              std::vector<std::string>& notes);

}  // namespace quern::memory

// Sentences that tell of somebody else: "The bus driver waved" says nothing of its speaker's job, and "My landlord has a new
// dog" nothing of their pets.
#pragma once
#include <string>
#include <string_view>

namespace quern::memory {

// Blanks in place of "the bus driver" and the like, where they are the subject of a sentence without the speaker.
std::string without_other_subjects(std::string_view lower);
// Every sentence says what somebody else has or does.
bool tells_of_others(std::string_view lower);

}  // namespace quern::memory

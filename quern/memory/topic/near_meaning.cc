#include "quern/memory/topic/near_meaning.h"

#include <algorithm>

#include "quern/encoders/words/shipped_words.h"

namespace quern::memory {
namespace {

constexpr size_t kMinShared = 4;    // letters
constexpr size_t kMaxEnding = 2;    // letters of the shorter word behind them: "photos", "teams"
constexpr double kBeginning = 0.5;  // of a whole word, beside a cosine

}  // namespace

NearMeaning::NearMeaning(std::string_view topic)
    : encoder_(encoders::shipped_words()),
      topic_(static_cast<size_t>(encoder_.width())),
      text_(topic_.size()),
      words_(recall::words_of(topic)) {
  known_ = encoder_.embed(topic, reader_, topic_) > 0;
}

double NearMeaning::nearness(std::string_view text) {
  double cosine = 0;
  if (known_ && encoder_.embed(text, reader_, text_) > 0)
    for (size_t i = 0; i < topic_.size(); ++i) cosine += double{topic_[i]} * double{text_[i]};
  return cosine + kBeginning * shared_beginning(text);
}

// The greatest share of a topic's word that a word of the text begins with, where that is nearly all of it.
double NearMeaning::shared_beginning(std::string_view text) const {
  double most = 0;
  for (const std::string& word : recall::words_of(text))
    for (const std::string& of : words_) {
      const auto parts = std::mismatch(word.begin(), word.end(), of.begin(), of.end());
      const auto shared = static_cast<size_t>(parts.first - word.begin());
      if (shared < kMinShared || 2 * shared < of.size() || shared + kMaxEnding < std::min(word.size(), of.size()))
        continue;
      most = std::max(most, static_cast<double>(shared) / static_cast<double>(of.size()));
    }
  return most;
}

std::string NearMeaning::near_words(size_t n) const {
  std::string out;
  if (known_)
    for (const uint32_t row : encoder_.nearest(topic_, n)) out += (out.empty() ? "" : " ") + encoder_.word(row);
  return out;
}

}  // namespace quern::memory

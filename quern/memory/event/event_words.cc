#include "quern/memory/event/event_words.h"

#include <algorithm>

namespace quern::memory {
namespace {

// Every word of a line tells of what every other one does. Regular endings are left to the stemmer.
const std::initializer_list<std::string_view> kAlike[] = {
    {"get", "got", "getting", "gets", "gotten", "adopt", "buy", "bought", "pick", "arrive", "collect", "bring",
     "brought"},
    {"move", "relocate", "boxes", "keys"},
    {"start", "begin", "began", "begun", "join", "first"},
    {"sell", "sold", "sale"},
    {"marry", "married", "wedding", "wed", "marriage", "bride", "groom", "vows"},
    {"born", "birth", "baby", "arrive", "newborn"},
    {"operation", "surgery", "op", "operate", "surgeon"},
    {"exam", "test", "exams", "finals"},
    {"fly", "flew", "flight", "plane", "land"},
    {"die", "died", "death", "funeral", "passed"},
    {"break", "broke", "broken", "snap", "fracture", "crack"},
    {"quit", "left", "leave", "resign", "resignation", "notice"},
    {"finish", "done", "complete", "end", "over"},
    {"steal", "stole", "stolen", "theft", "thief", "burglary", "nicked"},
    {"lose", "lost", "loss"},
    {"win", "won", "victory"},
    {"meet", "met"},
    {"split", "separate", "divorce", "breakup"},
    {"job", "work", "position", "hired"},
    {"fire", "fired", "redundant", "layoff", "sacked"},
    {"party", "celebration", "birthday"},
    {"trip", "holiday", "vacation", "travel", "journey"},
    {"kid", "child", "children", "kids"},
    {"puppy", "dog", "pup"},
    {"kitten", "cat"},
    {"car", "van", "vehicle"},
    {"house", "home", "flat", "apartment"},
    {"kitchen", "renovation", "refit"},
    {"graduate", "graduation", "degree", "diploma"},
    {"marathon", "race", "run", "ran"},
    {"crash", "accident", "collision"},
    {"flood", "leak", "burst"},
    {"promote", "promotion", "promoted"},
    {"retire", "retirement", "pension"},
};

}  // namespace

std::vector<std::string_view> words_like(std::string_view word) {
  std::vector<std::string_view> out;
  const auto matches = [&](std::string_view other) {  // "moved", "moving" of "move"
    if (word == other) return true;
    const std::string_view root = other.ends_with('e') ? other.substr(0, other.size() - 1) : other;
    if (root.size() < 3 || !word.starts_with(root)) return false;
    const std::string_view ending = word.substr(root.size());
    return ending == "s" || ending == "es" || ending == "ed" || ending == "ing" || ending == "e";
  };
  for (const auto& line : kAlike)
    if (std::any_of(line.begin(), line.end(), matches))
      for (const std::string_view other : line)
        if (!matches(other)) out.push_back(other);
  return out;
}

}  // namespace quern::memory

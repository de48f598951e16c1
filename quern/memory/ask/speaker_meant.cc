#include "quern/memory/ask/speaker_meant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "quern/memory/time/lexicon.h"
#include "quern/text/unicode/ascii_case.h"

namespace quern::memory {
namespace {

using text::ascii_lowercase;

bool letter(std::string_view s, size_t i) {
  return i < s.size() && (static_cast<unsigned char>(s[i]) >= 0x80 || std::isalnum(static_cast<unsigned char>(s[i])));
}

// Where `name` stands as a word of its own, or with 's.
std::vector<size_t> places(const std::string& lower, const std::string& name) {
  std::vector<size_t> out;
  if (name.empty()) return out;
  for (size_t at = lower.find(name); at != lower.npos; at = lower.find(name, at + 1))
    if ((at == 0 || !letter(lower, at - 1)) &&
        (!letter(lower, at + name.size()) ||
         (lower[at + name.size()] == 's' && !letter(lower, at + name.size() + 1))))
      out.push_back(at);  // also "Adas"
  return out;
}

bool names(std::string_view text, std::string_view phrase) {
  return !places(ascii_lowercase(text), ascii_lowercase(phrase)).empty();
}

// The word in front of a place.
std::string_view word_before(std::string_view s, size_t at) {
  size_t end = at;
  while (end > 0 && s[end - 1] == ' ') --end;
  size_t begin = end;
  while (begin > 0 && s[begin - 1] != ' ') --begin;
  return s.substr(begin, end - begin);
}

struct Mention {
  int32_t speaker;
  size_t begin, end;
};

// Who is spoken to or of does not speak.
bool spoken_to(std::string_view before) {
  constexpr std::string_view kTo[] = {"to",      "with",   "about",    "for",  "at",    "tell",   "told",
                                      "telling", "answer", "answered", "ask",  "asked", "asking", "reply",
                                      "show",    "give",   "of",       "text", "write", "message"};
  return std::find(std::begin(kTo), std::end(kTo), before) != std::end(kTo);
}

// "everything except Ada's turns", "apart from what Ada said", "everyone but Ada": where the exception begins; npos
// where it is none.
size_t left_out(std::string_view lower, size_t name) {
  constexpr std::string_view kOut[] = {"except",       "without",  "excluding", "besides", "ignoring",
                                       "not",          "minus",    "apart",     "aside",   "barring",
                                       "disregarding", "skipping", "omitting",  "other"};
  constexpr std::string_view kBetween[] = {"from",  "for",   "of",       "the",  "what",     "messages",
                                           "turns", "those", "counting", "than", "anything", "everything"};
  constexpr std::string_view kAll[] = {"everyone", "everybody", "anyone", "anybody", "all", "else"};
  const auto among = [](std::string_view w, const auto& list) {
    return std::find(std::begin(list), std::end(list), w) != std::end(list);
  };
  size_t at = name;
  for (int i = 0; i < 4 && at > 0; ++i) {
    const std::string_view w = word_before(lower, at);
    at = static_cast<size_t>(w.data() - lower.data());
    if (among(w, kOut) || (w == "but" && among(word_before(lower, at), kAll))) return at;
    if (!among(w, kBetween)) return std::string_view::npos;
  }
  return std::string_view::npos;
}

// Exactly one of those who are named speaks: the others are told, asked or answered.
std::optional<int32_t> one_who_speaks(const std::string& lower, std::vector<Mention> found) {
  std::sort(found.begin(), found.end(), [](const Mention& a, const Mention& b) { return a.begin < b.begin; });
  std::optional<int32_t> who;
  for (size_t i = 0; i < found.size(); ++i) {
    if (i > 0) {
      const std::string_view between =
          std::string_view(lower).substr(found[i - 1].end, found[i].begin - found[i - 1].end);
      if (between == " and " || between == " & " || between == ", " || between == "/" || between == " or ")
        return std::nullopt;
    }
    if (i > 0 && found[i].begin == found[i - 1].end + 1 && lower[found[i - 1].end] == ' ')
      continue;  // hat Ada Ben erzählt
    if (i > 0 && lower.substr(found[i - 1].end, found[i].begin - found[i - 1].end) == " the ") continue;  // … dem Ben
    const std::string_view before = word_before(lower, found[i].begin);
    if (before == "from" || before == "by") return found[i].speaker;  // "what was Ben told by Ada?"
    if (spoken_to(before)) continue;
    if (who && *who != found[i].speaker) return std::nullopt;
    who = found[i].speaker;
  }
  return who;
}

// "did I", "I wrote", "my last message"
bool speaks(std::string_view question, std::string_view who, std::string_view whose) {
  constexpr std::string_view kVerbs[] = {"said",  "told",   "wrote",  "sent", "mentioned",
                                         "asked", "posted", "texted", "typed"};
  constexpr std::string_view kOwn[] = {"", "first ", "last ", "latest ", "very first ", "most recent "};
  constexpr std::string_view kTurns[] = {"message", "messages", "words", "remark", "statement"};
  for (const char* asked : {"did", "have", "had"})
    if (names(question, fmt::format("{} {}", asked, who))) return true;
  for (const std::string_view verb : kVerbs)
    if (names(question, fmt::format("{} {}", who, verb))) return true;
  for (const std::string_view own : kOwn)
    for (const std::string_view turn : kTurns)
      if (names(question, fmt::format("{} {}{}", whose, own, turn))) return true;
  return false;
}

}  // namespace

std::optional<int32_t> speaker_meant(std::string_view question, const std::vector<std::string>& speakers,
                                     const std::string& asker) {
  const std::string lower = ascii_lowercase(question);
  std::vector<Mention> found;
  bool several = false;
  for (size_t s = 0; s < speakers.size(); ++s) {
    const std::string name = ascii_lowercase(speakers[s]);
    for (const size_t at : places(lower, name)) {
      several |= !found.empty() && found.front().speaker != static_cast<int32_t>(s);
      found.push_back({static_cast<int32_t>(s), at, at + name.size()});
    }
  }
  if (found.size() == 1 && left_out(lower, found[0].begin) != std::string::npos)
    return speakers.size() == 2 ? std::optional(1 - found[0].speaker) : std::nullopt;
  if (several) return one_who_speaks(lower, found);
  if (!found.empty()) return found.front().speaker;
  if (asker.empty() || speakers.size() != 2) return std::nullopt;
  const bool me = speaks(question, "I", "my"), you = speaks(question, "you", "your");
  if (me == you) return std::nullopt;
  for (size_t s = 0; s < 2; ++s)
    if ((ascii_lowercase(speakers[s]) == ascii_lowercase(asker)) == me) return static_cast<int32_t>(s);
  return std::nullopt;
}

std::optional<SpeakerLeftOut> speaker_left_out(std::string_view question, const std::vector<std::string>& speakers) {
  const std::string lower = ascii_lowercase(question);
  std::optional<SpeakerLeftOut> out;
  size_t named = 0;
  for (size_t s = 0; s < speakers.size(); ++s)
    for (const size_t at : places(lower, ascii_lowercase(speakers[s]))) {
      ++named;
      if (const size_t begin = left_out(lower, at); begin != std::string::npos)
        out = {static_cast<int32_t>(s), begin, at + speakers[s].size()};
    }
  return named == 1 ? out : std::nullopt;
}

std::string with_names_mended(std::string_view question, const std::vector<std::string>& speakers,
                              std::vector<std::string>& notes) {
  std::string out;
  for (size_t i = 0; i < question.size();) {
    size_t end = i;
    while (end < question.size() && letter(question, end)) ++end;
    if (end == i) {
      out += question[i++];
      continue;
    }
    const std::string word(question.substr(i, end - i)), lower = ascii_lowercase(word);
    const std::string* meant = nullptr;
    for (const std::string& s : speakers) {
      const std::string name = ascii_lowercase(s);
      if (lower == name || lower == name + "s") {
        meant = nullptr;
        break;
      }
      const bool swapped = name.size() == lower.size() && name.size() > 3 && one_edit_apart(lower, name) &&
                           std::is_permutation(lower.begin(), lower.end(), name.begin());
      const bool doubled = lower.size() == name.size() + 1 && name.size() > 2 && [&] {
        for (size_t k = 1; k < lower.size(); ++k)
          if (lower[k] == lower[k - 1] && lower.substr(0, k) + lower.substr(k + 1) == name) return true;
        return false;
      }();
      const bool lost = lower.size() + 1 == name.size() && name.size() > 4 && one_edit_apart(lower, name);
      if ((swapped || doubled || lost) && !lexicon_find(lower)) meant = &s;
    }
    if (meant) notes.push_back(fmt::format("'{}' is read as '{}'", word, *meant));
    out += meant ? *meant : word;
    i = end;
  }
  return out;
}

bool speaks_of_all(std::string_view question) {
  const std::string lower = ascii_lowercase(question);
  for (const char* w : {"they", "we", "both", "the two", "us", "everyone", "everybody"})
    if (!places(lower, w).empty()) return true;
  return false;
}

}  // namespace quern::memory

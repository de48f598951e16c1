#include "quern/verify/instructions.h"

#include <algorithm>
#include <map>

#include "quern/base/nearest.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"
#include "quern/verify/answer_text.h"
#include "quern/verify/expectation.h"
#include "quern/verify/json_reply.h"
#include "quern/verify/language.h"
#include "quern/verify/text_counts.h"

namespace quern::verify {
namespace {

using Complaint = std::optional<std::string>;

struct Bounds {
  int64_t low = 0, high = INT64_MAX;
  Complaint complaint(int64_t n, std::string_view what) const {
    if (n >= low && n <= high) return {};
    if (low == high) return fmt::format("expected exactly {} {}, found {}", low, what, n);
    return n < low ? fmt::format("expected at least {} {}, found {}", low, what, n)
                   : fmt::format("expected at most {} {}, found {}", high, what, n);
  }
};

// "at_least", "at_most" or "exactly"; `otherwise` where none is given.
Bounds bounds_of(const Json& e, std::optional<Bounds> otherwise = {}) {
  const auto low = count_if_given(e, "at_least"), high = count_if_given(e, "at_most"),
             exact = count_if_given(e, "exactly");
  if (exact && (low || high)) fail("field 'exactly' excludes 'at_least' and 'at_most'");
  if (exact) return {*exact, *exact};
  if (low && high && *low > *high) fail("field 'at_least': {} is more than 'at_most': {}", *low, *high);
  if (low || high) return {low.value_or(0), high.value_or(INT64_MAX)};
  if (!otherwise) fail("one of the fields 'at_least', 'at_most' and 'exactly' is missing");
  return *otherwise;
}

constexpr Bounds kSome = {.low = 1};

std::string given_text(const Json& e, std::string_view field) {
  const std::string& s = text_field(e, field);
  if (trimmed(s).empty()) fail("field '{}' is empty", field);
  if (text::utf8_error(s) != std::string::npos) fail("field '{}': invalid UTF-8", field);
  return s;
}

InstructionCheck counted(const Json& e, int64_t (*count)(std::string_view), std::string what,
                         std::optional<Bounds> b = {}) {
  check_fields(e, {"kind", "at_least", "at_most", "exactly"});
  return [count, what = std::move(what), b = bounds_of(e, b)](std::string_view s) {
    return b.complaint(count(s), what);
  };
}

InstructionCheck contains(const Json& e) {
  check_fields(e, {"kind", "texts", "at_least", "at_most", "exactly"});
  std::vector<std::string> words = texts_field(e, "texts");
  for (const std::string& w : words)
    if (trimmed(w).empty()) fail("field 'texts': an empty text");
  return [words = std::move(words), b = bounds_of(e, kSome)](std::string_view s) -> Complaint {
    for (const std::string& w : words)
      if (auto wrong = b.complaint(count_keyword(s, w), fmt::format("times '{}'", w))) return wrong;
    return {};
  };
}

InstructionCheck avoids(const Json& e) {
  check_fields(e, {"kind", "texts"});
  std::vector<std::string> words = texts_field(e, "texts");
  for (const std::string& w : words)
    if (trimmed(w).empty()) fail("field 'texts': an empty text");
  return [words = std::move(words)](std::string_view s) -> Complaint {
    for (const std::string& w : words)
      if (count_keyword(s, w) > 0) return fmt::format("'{}' is in the reply", w);
    return {};
  };
}

// Letters that the conversion changes are of the other case.
InstructionCheck in_case(const Json& e, void (*convert)(std::string&), const char* complaint) {
  check_fields(e, {"kind"});
  return [convert, complaint](std::string_view s) -> Complaint {
    std::string converted(s), upper(s), lower(s);
    convert(converted), text::unicode_uppercase(upper), text::unicode_lowercase(lower);
    if (upper == lower) return "no letter is in the reply";
    if (converted == s) return {};
    return complaint;
  };
}

InstructionCheck at_an_end(const Json& e, bool (*holds)(std::string_view, std::string_view), const char* verb) {
  check_fields(e, {"kind", "text"});
  const std::string wanted(trimmed(given_text(e, "text")));
  return [wanted, holds, verb](std::string_view s) -> Complaint {
    if (holds(s, wanted)) return {};
    return fmt::format("the reply does not {} with '{}'", verb, wanted);
  };
}

InstructionCheck plain(const Json& e, bool (*holds)(std::string_view), const char* complaint) {
  check_fields(e, {"kind"});
  return [holds, complaint](std::string_view s) -> Complaint {
    if (holds(s)) return {};
    return complaint;
  };
}

bool touches_word(std::string_view before, std::string_view after) {
  const auto in_word = [](char32_t c) { return text::unicode_is_letter(c) || text::unicode_is_number(c); };
  return !before.empty() && !after.empty() && in_word(text::utf8_before(before, before.size()).cp) &&
         in_word(text::utf8_at(after, 0).cp);
}

bool begins_with_words(std::string_view s, std::string_view t) {
  return s.starts_with(t) && !touches_word(t, s.substr(t.size()));
}

bool ends_with_words(std::string_view s, std::string_view t) {
  return s.ends_with(t) && !touches_word(s.substr(0, s.size() - t.size()), t);
}

bool is_quoted(std::string_view s) {
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>{"\"", "\""}, {"“", "”"}})
    if (s.size() > open.size() + close.size() && s.starts_with(open) && s.ends_with(close)) return true;
  return false;
}

bool has_title(std::string_view s) {
  for (std::string_view line : lines_of(s)) {
    const size_t open = line.find("<<"), close = open == line.npos ? line.npos : line.find(">>", open);
    if (close != line.npos && !trimmed(line.substr(open + 2, close - open - 2)).empty()) return true;
  }
  return false;
}

// Two different texts with one line of six asterisks between them.
bool has_two_responses(std::string_view s) {
  constexpr std::string_view kBetween = "******";
  const size_t at = s.find(kBetween);
  if (at == s.npos || s.find(kBetween, at + 1) != s.npos) return false;
  const std::string_view first = trimmed(s.substr(0, at)), second = trimmed(s.substr(at + kBetween.size()));
  return !first.empty() && !second.empty() && first != second;
}

InstructionCheck language(const Json& e) {
  check_fields(e, {"kind", "language", "script"});
  const auto given = [&](const char* field, const std::vector<std::string>& known) {
    auto v = text_if_given(e, field);
    if (v && std::ranges::find(known, *v) == known.end())
      fail("field '{}': expected one of {}, found '{}'", field, fmt::join(known, ", "), *v);
    return v;
  };
  const auto wanted = given("language", known_languages()), script = given("script", known_scripts());
  if (wanted.has_value() == script.has_value()) fail("expected one of the fields 'language' and 'script'");
  return [wanted, script](std::string_view s) -> Complaint {
    const std::string found = wanted ? language_of(s) : script_of(s);
    if (found == (wanted ? *wanted : *script)) return {};
    if (found.empty()) return wanted ? "the language is unsure" : "no script has nine tenths of the letters";
    return fmt::format("expected {}, found {}", wanted ? *wanted : *script, found);
  };
}

InstructionCheck repeats_prompt(const Json& e) {
  check_fields(e, {"kind", "text"});
  const std::string prompt(trimmed(given_text(e, "text")));
  return [prompt](std::string_view s) -> Complaint {
    if (!s.starts_with(prompt)) return "the reply does not begin with the prompt";
    if (trimmed(s.substr(prompt.size())).empty()) return "nothing follows the prompt";
    return {};
  };
}

InstructionCheck sections(const Json& e) {
  check_fields(e, {"kind", "marker", "at_least", "at_most", "exactly"});
  return [marker = given_text(e, "marker"), b = bounds_of(e)](std::string_view s) {
    return b.complaint(count_sections(s, marker), fmt::format("sections '{}'", marker));
  };
}

InstructionCheck postscript(const Json& e) {
  check_fields(e, {"kind", "marker"});
  const std::string marker = e.find("marker") ? given_text(e, "marker") : "P.S.";
  return [marker](std::string_view s) -> Complaint {
    const std::vector<std::string_view> lines = lines_of(s);
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::string_view line = trimmed(lines[i]);
      if (!line.starts_with(marker)) continue;
      const bool more = !trimmed(line.substr(marker.size())).empty() || i + 1 < lines.size();
      if (more) return {};
    }
    return fmt::format("no line after the first begins with '{}'", marker);
  };
}

using Make = InstructionCheck (*)(const Json&);

const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> all = {
      {"words", [](const Json& e) { return counted(e, count_words, "words"); }},
      {"sentences", [](const Json& e) { return counted(e, count_sentences, "sentences"); }},
      {"paragraphs", [](const Json& e) { return counted(e, count_paragraphs, "paragraphs"); }},
      {"bullets", [](const Json& e) { return counted(e, count_bullets, "bullet points"); }},
      {"placeholders", [](const Json& e) { return counted(e, count_placeholders, "placeholders", kSome); }},
      {"highlights", [](const Json& e) { return counted(e, count_highlights, "highlighted parts", kSome); }},
      {"capital_words", [](const Json& e) { return counted(e, count_capital_words, "words in capitals"); }},
      {"sections", sections},
      {"contains", contains},
      {"avoids", avoids},
      {"upper_case", [](const Json& e) { return in_case(e, text::unicode_uppercase, "a letter is not upper case"); }},
      {"lower_case", [](const Json& e) { return in_case(e, text::unicode_lowercase, "a letter is not lower case"); }},
      {"starts_with", [](const Json& e) { return at_an_end(e, begins_with_words, "start"); }},
      {"ends_with", [](const Json& e) { return at_an_end(e, ends_with_words, "end"); }},
      {"quoted", [](const Json& e) { return plain(e, is_quoted, "the reply is not in double quotes"); }},
      {"no_commas",
       [](const Json& e) {
         return plain(
             e, [](std::string_view s) { return s.find(',') == s.npos; }, "a comma is in the reply");
       }},
      {"title", [](const Json& e) { return plain(e, has_title, "no title in << >>"); }},
      {"json",
       [](const Json& e) {
         return plain(
             e, [](std::string_view s) { return json_reply(s).value.has_value(); }, "the reply is not JSON");
       }},
      {"two_responses",
       [](const Json& e) {
         return plain(e, has_two_responses, "not two different responses with ****** between them");
       }},
      {"language", language},
      {"repeats_prompt", repeats_prompt},
      {"postscript", postscript},
  };
  return all;
}

}  // namespace

std::vector<std::string> instruction_kinds() {
  std::vector<std::string> out;
  for (const auto& [kind, ignored] : makers()) out.push_back(kind);
  return out;
}

InstructionCheck make_instruction(const Json& instruction) {
  if (!instruction.is_object()) fail("expected an object, found {}", instruction.dump());
  const std::string& kind = text_field(instruction, "kind");
  const auto at = makers().find(kind);
  if (at != makers().end()) return at->second(instruction);
  const std::vector<std::string> known = instruction_kinds();
  fail("field 'kind': '{}' is not one of {}{}", kind, fmt::join(known, ", "), did_you_mean(kind, known));
}

}  // namespace quern::verify

#include "quern/verify/answer_text.h"

#include <algorithm>
#include <cctype>

namespace quern::verify {
namespace {

constexpr std::string_view kOpen = "<think>", kClose = "</think>", kBox = "\\boxed{";

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// The inside of the last \boxed{…} that closes. One pass: a stack of the braces that are open.
std::optional<std::string_view> last_box(std::string_view text) {
  std::vector<size_t> open;
  size_t from = text.npos, to = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') open.push_back(i + 1);
    if (text[i] != '}' || open.empty()) continue;
    const size_t inside = open.back();
    open.pop_back();
    const bool is_box = inside >= kBox.size() && text.substr(inside - kBox.size(), kBox.size()) == kBox;
    if (is_box && (from == text.npos || inside > from)) from = inside, to = i;
  }
  if (from == text.npos) return {};
  return text.substr(from, to - from);
}

bool unwrap(std::string_view& s, std::string_view open, std::string_view close) {
  if (s.size() < open.size() + close.size() || !s.starts_with(open) || !s.ends_with(close)) return false;
  s = trimmed(s.substr(open.size(), s.size() - open.size() - close.size()));
  return true;
}

constexpr std::string_view kWideColon = "：";

// Without white space at both ends, blanks beyond ASCII among it.
std::string_view without_blanks(std::string_view s) {
  constexpr std::string_view kBlanks[] = {"\u00a0", "\u202f", "\u3000", "\u2009"};
  for (bool again = true; again;) {
    again = false, s = trimmed(s);
    for (std::string_view blank : kBlanks) {
      if (s.starts_with(blank)) s.remove_prefix(blank.size()), again = true;
      if (s.ends_with(blank)) s.remove_suffix(blank.size()), again = true;
    }
  }
  return s;
}

// The first line that is not empty, and what follows it. A formula between lines "$$" counts as one line.
struct FirstLine {
  std::string_view line, rest;
};
FirstLine first_line(std::string_view s) {
  s = without_blanks(s);
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>{"$$", "$$"}, {"\\[", "\\]"}})
    if (s.starts_with(open)) {
      const size_t end = s.find(close, open.size());
      if (end != s.npos && s.substr(0, end).find('\n') != s.npos)
        return {s.substr(0, end + close.size()), s.substr(end + close.size())};
    }
  const size_t end = std::min(s.find('\n'), s.size());
  return {without_blanks(s.substr(0, end)), s.substr(end)};
}

size_t letters_before(std::string_view text, size_t at) {  // how many touch `at`
  size_t n = 0;
  while (n < at && std::isalnum(static_cast<unsigned char>(text[at - n - 1])) != 0) ++n;
  return n;
}

// Past the colon behind an "answer" that ends at `at`: "Answer:", "Answer :", "**Answer**:". Nothing: not a mark.
std::optional<size_t> past_colon(std::string_view text, size_t at) {
  const size_t end = text.find_first_not_of(" *_", at);
  if (end == text.npos || end - at > 4) return {};
  if (text[end] == ':') return end + 1;
  if (text.substr(end).starts_with(kWideColon)) return end + kWideColon.size();
  return {};
}

// The line of the last "Answer:", or the next one where that is empty, or a last line "#### 3". Case does not count.
// Emphasis that the mark stands in ("**Answer:** 3", "*Final answer: 3*") is not part of the answer.
std::optional<std::string_view> marked_answer(std::string_view text) {
  constexpr std::string_view kWord = "answer", kFinal = "final ", kHashes = "#### ";
  const std::string lower = lower_case(text);
  for (size_t mark = lower.rfind(kWord); mark != lower.npos;
       mark = mark > 0 ? lower.rfind(kWord, mark - 1) : lower.npos) {
    const auto after = past_colon(text, mark + kWord.size());
    if (!after || letters_before(text, mark) > 0) continue;
    size_t begin = mark;
    if (std::string_view(lower).substr(0, mark).ends_with(kFinal)) begin -= kFinal.size();
    size_t before = begin;
    while (before > 0 && begin - before < 3 && (text[before - 1] == '*' || text[before - 1] == '_')) --before;
    std::string_view emphasis = text.substr(before, begin - before);
    if (text.substr(mark + kWord.size()).starts_with(emphasis)) emphasis = {};  // closed before the colon
    std::string_view rest = text.substr(*after);
    if (!emphasis.empty() && rest.starts_with(emphasis)) rest.remove_prefix(emphasis.size()), emphasis = {};
    if (rest.starts_with("** ") || rest.starts_with("__ ")) rest.remove_prefix(2);
    std::string_view line = first_line(rest).line;
    if (line.starts_with(emphasis)) return without_blanks(line.substr(emphasis.size()));
    if (line.ends_with(emphasis)) line.remove_suffix(emphasis.size());
    return without_blanks(line);
  }
  text = trimmed(text);
  if (const size_t line = text.rfind('\n'); line != text.npos) text.remove_prefix(line + 1);
  text = trimmed(text);
  if (text.starts_with(kHashes)) return without_blanks(text.substr(kHashes.size()));
  return {};
}

// Past the last "answer is" and its colon; nothing where there is none.
std::optional<size_t> past_statement(std::string_view text) {
  const std::string lower = lower_case(text);
  size_t last = 0;
  for (std::string_view is : {"answer is", "option is", "choice is"}) {
    const size_t at = lower.rfind(is);
    if (at == lower.npos) continue;
    const size_t end = at + is.size();
    if (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) continue;  // "issued"
    last = std::max(last, end);
  }
  if (last == 0) return {};
  if (text.substr(last).starts_with(':')) ++last;
  if (text.substr(last).starts_with(kWideColon)) last += kWideColon.size();
  return last;
}

// Talk that claims nothing more: sentences of three words and more or thanks, without digits, formulas, single letters
// and words that take something back.
bool is_talk(std::string_view s) {
  if (s.find_first_of("0123456789$\\") != s.npos) return false;
  constexpr std::string_view kDoubts[] = {"wait",    "actually", "maybe",      "perhaps", "however", "alternatively",
                                          "instead", "rather",   "correction", "sorry",   "also",    "could",
                                          "might",   "possibly", "either",     "mistake", "mean",    "wrong"};
  size_t words = 0;
  std::string word;
  bool thanks = false;
  for (size_t i = 0; i <= s.size(); ++i) {
    const char c = i < s.size() ? s[i] : '.';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '\'' || (c & 0x80) != 0) {
      word += c;
      continue;
    }
    if (!word.empty()) {
      const std::string lower = lower_case(word);
      const bool first = words == 0;
      if (std::ranges::find(kDoubts, lower) != std::end(kDoubts)) return false;
      if (first && (lower == "or" || lower == "but" || lower == "no" || lower == "not")) return false;
      if (word.size() == 1 && word != "I" && word != "a") return false;
      thanks = (first ? false : thanks) || lower == "thanks" || lower == "thank" || lower == "cheers";
      ++words, word.clear();
    }
    const bool end = c == '.' || c == '!' || c == '?' || c == '\n';
    if (!end || words == 0) continue;
    if (words < 3 && !thanks) return false;
    words = 0;
  }
  return true;
}

size_t sentence_end(std::string_view s) {  // at its full stop, or the size
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '.') continue;
    size_t next = i + 1;
    while (next < s.size() && next < i + 3 && s[next] == '*') ++next;  // the end of emphasis
    if (next == s.size() || is_space(s[next])) return i;
  }
  return s.size();
}

// The reason behind "because", and the talk behind that.
bool is_reason(std::string_view s) {
  const std::string_view reason = s.substr(0, sentence_end(s)), talk = s.substr(reason.size());
  const std::string lower = " " + lower_case(reason) + " ";
  for (std::string_view w : {" or ", " but ", " wait", "actually", " rather", "instead", " maybe", "perhaps"})
    if (lower.find(w) != lower.npos) return false;
  return is_talk(talk);
}

// What a stated line claims, without the talk behind it and in `more`; the line where that may claim something else.
std::string_view claim_of(std::string_view line, std::string_view more) {
  const std::string all = std::string(line) + "\n" + std::string(more);
  const auto rest_from = [&](size_t at) { return std::string_view(all).substr(at); };
  size_t formula = 0;  // the end of the one that the line begins with
  for (const auto& [open, close] :
       {std::pair<std::string_view, std::string_view>{"$$", "$$"}, {"$", "$"}, {"\\(", "\\)"}})
    if (formula == 0 && line.starts_with(open))
      if (const size_t end = line.find(close, open.size()); end != line.npos && end > open.size())
        formula = end + close.size();
  const std::string lower = lower_case(line);
  const size_t stop = formula + sentence_end(line.substr(formula));
  size_t because = lower.find(" because ");
  if (because != lower.npos && because < formula) because = lower.npos;  // "$5 because I have $3"
  if (because < stop && is_reason(rest_from(because + 9))) {
    line = without_blanks(line.substr(0, because));
    if (line.ends_with(',')) line.remove_suffix(1);
    return line;
  }
  if (stop < line.size() && is_talk(rest_from(stop))) return line.substr(0, stop);
  return line;
}

}  // namespace

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string final_answer(std::string_view text) {
  if (const size_t close = text.rfind(kClose); close != text.npos) text.remove_prefix(close + kClose.size());
  if (const auto marked = marked_answer(text)) text = *marked;
  std::string out;
  for (char c : text) {
    if (!is_space(c))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

std::string_view after_thinking(std::string_view reply) {
  if (const size_t close = reply.rfind(kClose); close != reply.npos) return reply.substr(close + kClose.size());
  return reply.find(kOpen) == reply.npos ? reply : std::string_view();
}

std::string extract_answer(std::string_view reply) {
  reply = after_thinking(reply);
  if (const auto box = last_box(reply)) return std::string(trimmed(*box));
  if (const auto marked = marked_answer(reply)) return std::string(*marked);
  reply = trimmed(reply);
  if (const size_t line = reply.rfind('\n'); line != reply.npos) reply.remove_prefix(line + 1);
  return std::string(trimmed(reply));
}

std::string_view bare_answer(std::string_view s) {
  s = without_blanks(s);
  while (s.starts_with("**") && s.find("**", 2) == s.npos) s = trimmed(s.substr(2));  // of "**The answer is:** 3"
  for (bool again = true; again;) {
    again = unwrap(s, "$$", "$$") || unwrap(s, "$", "$") || unwrap(s, "\\(", "\\)") || unwrap(s, "\\[", "\\]") ||
            unwrap(s, "**", "**") || unwrap(s, "`", "`");
    if (s.ends_with('.')) s.remove_suffix(1), s = trimmed(s), again = true;
  }
  return s;
}

StatedAnswer stated_answers(std::string_view reply) {
  const std::string found = extract_answer(reply);
  const std::string_view text = after_thinking(reply);
  std::string_view line = found, more;
  bool stated = marked_answer(text).has_value();
  if (last_box(text)) {
    stated = false;
  } else if (!stated && !past_statement(found)) {  // a statement, and then talk
    if (const auto at = past_statement(text)) {
      const FirstLine first = first_line(text.substr(*at));
      if (claim_of(first.line, first.rest) != first.line || is_talk(first.rest))
        line = first.line, more = first.rest, stated = true;
    }
  }
  line = bare_answer(line);
  if (const auto at = past_statement(line)) line = without_blanks(line.substr(*at)), stated = true;
  while (line.starts_with("**") && line.find("**", 2) == line.npos) line = without_blanks(line.substr(2));
  const std::string_view claim = stated ? claim_of(line, more) : line;
  return {std::string(bare_answer(line)), std::string(bare_answer(claim))};
}

std::string stated_answer(std::string_view reply) { return stated_answers(reply).claim; }

std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; (at = text.find_first_not_of(" ,;", at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(" ,;", at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::vector<std::string> answer_words(std::string_view text) {
  const std::vector<std::string_view> pieces = pieces_of(text);
  return {pieces.begin(), pieces.end()};
}

std::optional<size_t> closing_brace(std::string_view text, size_t at) {
  int depth = 1;
  for (size_t i = at; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return i;
  }
  return {};
}

}  // namespace quern::verify

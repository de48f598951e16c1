// Plants errors in solutions, and builds the prompts with several of them.
#include "quern/reason/attempts.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "quern/base/error.h"
#include "quern/text/chat/aggregation_prompt.h"

namespace quern::reason {
namespace {

struct Word {
  size_t begin, end;
  std::string_view of(std::string_view s) const { return s.substr(begin, end - begin); }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<Word> numbers(std::string_view s) {
  std::vector<Word> out;
  for (size_t i = 0; i < s.size();) {
    size_t j = i;
    while (j < s.size() && is_digit(s[j])) ++j;
    if (j > i) out.push_back({i, j});
    i = std::max(j, i + 1);
  }
  return out;
}

std::vector<Word> names(std::string_view s) {  // capitalized words, but not the first
  std::vector<Word> out;
  for (size_t i = 1; i < s.size(); ++i) {
    if (std::isupper(static_cast<unsigned char>(s[i])) == 0 || s[i - 1] != ' ') continue;
    size_t j = i;
    while (j < s.size() && std::isalpha(static_cast<unsigned char>(s[j])) != 0) ++j;
    out.push_back({i, j});
  }
  return out;
}

// From `at` on, every `from` that stands as a word of its own becomes `to`.
std::string replaced_after(std::string_view s, size_t at, std::string_view from, std::string_view to) {
  auto inner = [&](size_t i) { return i < s.size() && std::isalnum(static_cast<unsigned char>(s[i])) != 0; };
  std::string out(s.substr(0, at));
  for (size_t i = at; i < s.size();) {
    const bool whole = s.substr(i, from.size()) == from && !(i > 0 && inner(i - 1)) && !inner(i + from.size());
    out += whole ? to : s.substr(i, 1);
    i += whole ? from.size() : 1;
  }
  return out;
}

std::string near(std::string_view number, Rng& r) {  // another digit somewhere, never a leading zero
  std::string s(number);
  const size_t i = r.below(s.size());
  const bool lead = i == 0 && s.size() > 1;
  const char was = s[i];
  while (s[i] == was || (lead && s[i] == '0')) s[i] = static_cast<char>('0' + r.below(10));
  return s;
}

std::string end_of(const std::string& s, int64_t tail) {
  if (static_cast<int64_t>(s.size()) <= tail) return s;
  const size_t cut = s.find(' ', s.size() - static_cast<size_t>(tail));
  return cut == s.npos ? s.substr(s.size() - static_cast<size_t>(tail)) : s.substr(cut + 1);
}

}  // namespace

void check(const AttemptOptions& o) {
  if (o.count < 1 || o.count > 16) fail("{} sampled solutions: expected 1 to 16", o.count);
  if (o.tail < 16) fail("tails of {} bytes, expected 16 or more", o.tail);
  if (!(o.sound >= 0 && o.sound <= 1)) fail("share of correct solutions {}: expected 0 to 1", o.sound);
  if (!(o.cut_short >= 0 && o.cut_short <= 1)) fail("share of searches cut short {}: expected 0 to 1", o.cut_short);
}

std::string flawed_steps(const gym::Problem& p, Rng& r) {
  if (!p.search.empty()) return gym::worked_again(p, r, {}, 1).steps;
  const std::string& whole = p.steps;
  std::vector<Word> words = numbers(whole);
  if (std::vector<Word> n = names(whole); !is_digit(p.answer.back()) && n.size() > 1) words = n;
  if (words.empty()) return whole;
  const Word w = words[words.size() / 3 + r.below(words.size() - words.size() / 3)];
  const std::string from(w.of(whole));
  std::string to = from;
  if (is_digit(from[0])) {
    to = near(from, r);
  } else {
    for (int k = 0; k < 8 && to == from; ++k) to = std::string(words[r.below(words.size())].of(whole));
  }
  return replaced_after(whole, w.begin, from, to);
}

std::string aggregation_line(const gym::Problem& p, const AttemptOptions& o, uint64_t index) {
  Rng r(mix64(o.seed) ^ 0xa77e3u, index);
  const std::vector<std::string> pieces = text::aggregation_pieces(p.question, static_cast<int>(o.count));
  std::string prompt = pieces[0];
  for (int64_t i = 0; i < o.count; ++i) {
    std::string attempt = r.uniform() < o.sound ? gym::worked_again(p, r).steps : flawed_steps(p, r);
    if (r.below(4) == 0) attempt.resize(attempt.size() * 3 / 4);  // stopped before its end
    prompt += end_of(attempt, o.tail) + pieces[static_cast<size_t>(i) + 1];
  }
  return gym::chat_line(gym::worked_again(p, r, prompt, o.cut_short), prompt);
}

}  // namespace quern::reason

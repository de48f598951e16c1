// Operations on strings, the conditions of steps, and how all of them are found.
#include "quern/code/operations.h"

#include <algorithm>
#include <numeric>

#include "quern/base/error.h"

namespace quern::code {
namespace {

using V = const CodeValue&;
constexpr ValueType kList = ValueType::list, kNumber = ValueType::number, kText = ValueType::text;

bool is_vowel(char c) { return std::string_view("aeiou").find(c) != std::string_view::npos; }
char letter(int64_t n) { return static_cast<char>('a' + remainder_of(n, 26)); }

std::vector<std::string> words_of(const std::string& s) {
  std::vector<std::string> out;
  bool inside = false;
  for (char c : s) {
    if (c != ' ' && !inside) out.emplace_back();
    inside = c != ' ';
    if (inside) out.back() += c;
  }
  return out;
}

CodeValue shifted(V x, int64_t n) {
  CodeValue out = x;
  for (char& c : out.text) c = c == ' ' ? c : letter(c - 'a' + n);
  return out;
}

CodeValue word_lengths(V x, int64_t) {
  CodeValue out{.type = kList};
  for (const std::string& w : words_of(x.text)) out.list.push_back(static_cast<int64_t>(w.size()));
  return out;
}

CodeValue reversed_words(V x, int64_t) {
  std::vector<std::string> words = words_of(x.text);
  std::ranges::reverse(words);
  return CodeValue::of(fmt::format("{}", fmt::join(words, " ")));
}

CodeValue without_repeats(V x, int64_t) {
  std::string out;
  for (char c : x.text)
    if (out.empty() || out.back() != c) out += c;
  return CodeValue::of(std::move(out));
}

constexpr CodeOperation kOperations[] = {
    {"reverse_text", kText, kText, 0, 0, "reverse the string", "{x} = {x}[::-1]", "", "",
     [](V x, int64_t) { return CodeValue::of(std::string(x.text.rbegin(), x.text.rend())); }},
    {"no_vowels", kText, kText, 0, 0, "remove the vowels (a, e, i, o, u)",
     "{x} = ''.join(c for c in {x} if c not in 'aeiou')", "", "",
     [](V x, int64_t) {
       CodeValue out = x;
       std::erase_if(out.text, is_vowel);
       return out;
     }},
    {"take_text", kText, kText, 2, 8, "keep only the first {n} characters", "{x} = {x}[:{n}]", "", "",
     [](V x, int64_t n) { return CodeValue::of(x.text.substr(0, static_cast<size_t>(n))); }},
    {"drop_text", kText, kText, 1, 4, "drop the first {n} characters", "{x} = {x}[{n}:]", "", "",
     [](V x, int64_t n) { return CodeValue::of(x.text.substr(std::min(x.text.size(), static_cast<size_t>(n)))); }},
    {"every_other", kText, kText, 0, 0, "keep every second character, beginning with the first", "{x} = {x}[::2]", "",
     "",
     [](V x, int64_t) {
       std::string out;
       for (size_t i = 0; i < x.text.size(); i += 2) out += x.text[i];
       return CodeValue::of(std::move(out));
     }},
    {"sort_text", kText, kText, 0, 0, "sort the characters, blanks first", "{x} = ''.join(sorted({x}))", "", "",
     [](V x, int64_t) {
       CodeValue out = x;
       std::ranges::sort(out.text);
       return out;
     }},
    {"no_repeats", kText, kText, 0, 0, "drop each character that equals the one before it",
     "{x} = ''.join(c for i, c in enumerate({x}) if i == 0 or c != {x}[i - 1])", "", "", without_repeats},
    {"shift", kText, kText, 1, 25, "move each letter {n} places on in the alphabet, a following z",
     "{x} = ''.join(c if c == ' ' else chr((ord(c) - 97 + {n}) % 26 + 97) for c in {x})", "", "", shifted},
    {"reverse_words", kText, kText, 0, 0, "put the words in reverse order, with one blank between two",
     "{x} = ' '.join({x}.split()[::-1])", "", "", reversed_words},
    {"word_lengths", kText, kList, 0, 0, "list the lengths of the words", "{x} = [len(w) for w in {x}.split()]", "",
     "", word_lengths},
    {"letter_places", kText, kList, 0, 0,
     "list the places of the letters in the alphabet, 1 for a, without the blanks",
     "{x} = [ord(c) - 96 for c in {x} if c != ' ']", "", "",
     [](V x, int64_t) {
       CodeValue out{.type = kList};
       for (char c : x.text)
         if (c != ' ') out.list.push_back(c - 'a' + 1);
       return out;
     }},
    {"length", kText, kNumber, 0, 0, "count the characters", "{x} = len({x})", "", "",
     [](V x, int64_t) { return CodeValue::of(static_cast<int64_t>(x.text.size())); }},
    {"count_vowels", kText, kNumber, 0, 0, "count the vowels (a, e, i, o, u)", "{x} = sum(c in 'aeiou' for c in {x})",
     "", "", [](V x, int64_t) { return CodeValue::of(std::ranges::count_if(x.text, is_vowel)); }},
    {"to_letters", kList, kText, 0, 0,
     "make a string of the letters at places v modulo 26, a being at 0, for each number v",
     "{x} = ''.join(chr(v % 26 + 97) for v in {x})", "", "",
     [](V x, int64_t) {
       CodeValue out{.type = kText};
       for (int64_t v : x.list) out.text += letter(v);
       return out;
     }},
};

constexpr CodeCondition kConditions[] = {
    {"longer", kList, 2, 5, "the list has more than {n} numbers", "len({x}) > {n}", "len > {n}", "len({x}) > {n}",
     [](V x, int64_t n) { return static_cast<int64_t>(x.list.size()) > n; }},
    {"rises", kList, 0, 0, "the last number is greater than the first", "{x} and {x}[-1] > {x}[0]",
     "len > 0 && {x}[len - 1] > {x}[0]", "last({x}) > first({x})",
     [](V x, int64_t) { return !x.list.empty() && x.list.back() > x.list.front(); }},
    {"greater", kNumber, 10, 99, "the number is greater than {n}", "{x} > {n}", "{x} > {n}", "{x} > {n}",
     [](V x, int64_t n) { return x.number > n; }},
    {"divisible", kNumber, 2, 4, "the number is divisible by {n}", "{x} % {n} == 0", "{x} % {n} == 0",
     "{x} % {n} = 0", [](V x, int64_t n) { return x.number % n == 0; }},
    {"longer_text", kText, 3, 8, "the string has more than {n} characters", "len({x}) > {n}", "", "",
     [](V x, int64_t n) { return static_cast<int64_t>(x.text.size()) > n; }},
    {"starts_low", kText, 0, 0, "the string begins with a letter before m", "{x} and 'a' <= {x}[0] < 'm'", "", "",
     [](V x, int64_t) { return !x.text.empty() && x.text[0] >= 'a' && x.text[0] < 'm'; }},
};

}  // namespace

std::span<const CodeOperation> text_operations() { return kOperations; }
std::span<const CodeCondition> conditions() { return kConditions; }

const CodeOperation& find_operation(std::string_view name) {
  for (const auto& all : {list_operations(), text_operations()})
    for (const CodeOperation& o : all)
      if (o.name == name) return o;
  fail("operation '{}' is not one of the generated programs'", name);
}

const CodeCondition& find_condition(std::string_view name) {
  for (const CodeCondition& c : conditions())
    if (c.name == name) return c;
  fail("condition '{}' is not one of the generated programs'", name);
}

int64_t remainder_of(int64_t a, int64_t b) { return (a % b + b) % b; }
int64_t floor_divided(int64_t a, int64_t b) { return (a - remainder_of(a, b)) / b; }

}  // namespace quern::code

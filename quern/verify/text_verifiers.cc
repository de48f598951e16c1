// "exact", "list", "set": {"answer": text or list of texts, "case": "ignore" | "keep", "space": "collapse" | "remove" |
// "keep", "punctuation": "keep" | "ignore"}. Of exact, a list gives alternatives.
// "regex": {"pattern": text, "match": "whole" | "part", "in": "answer" | "reply"}.
#include <algorithm>

#include "quern/text/unicode/regex.h"
#include "quern/text/unicode/utf8.h"
#include "quern/verify/answer_text.h"
#include "quern/verify/expectation.h"
#include "quern/verify/plain_text.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

constexpr size_t kMaxAnswer = 1 << 16;

class ExactVerifier : public Verifier {
 public:
  explicit ExactVerifier(const Json& e) : options_(plain_text_options(e)) {
    for (const std::string& a : texts_field(e, "answer")) {
      right_.push_back(plain(a));
      if (right_.back().empty()) fail("field 'answer': '{}' is empty as it is compared", a);
    }
  }

  Verdict judge(std::string_view reply) const override {
    const std::string found = extract_answer(reply);
    if (found.empty()) return {0, "no answer"};
    if (found.size() > kMaxAnswer) return {0, "the answer is too long"};
    const StatedAnswer stated = stated_answers(reply);
    for (const std::string& given :
         {plain(found), plain(bare_answer(found)), plain(stated.whole), plain(stated.claim)})
      if (std::ranges::find(right_, given) != right_.end()) return {1, "the answer is right"};
    return {0, "the answer is another text"};
  }

 private:
  std::string plain(std::string_view text) const {
    const bool kept = options_.space == Space::kept || options_.punctuation == Punctuation::ignored;
    std::string s = plain_text(text, options_);
    if (!kept && s.ends_with('.')) s.pop_back();
    return s;
  }
  PlainTextOptions options_;
  std::vector<std::string> right_ = {};
};

// Items between commas, semicolons and line breaks, without brackets around all and quotes around one.
std::vector<std::string> items_of(std::string_view text, const PlainTextOptions& o) {
  text = bare_answer(text);
  for (const auto& [open, close] : {std::pair{'[', ']'}, {'(', ')'}, {'{', '}'}})
    if (text.size() >= 2 && text.front() == open && text.back() == close) {
      text = text.substr(1, text.size() - 2);
      break;
    }
  std::vector<std::string> out;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find_first_of(",;\n", from), text.size());
    std::string_view item = bare_answer(text.substr(from, end - from));
    from = end + 1;
    for (char quote : {'"', '\''})
      if (item.size() >= 2 && item.front() == quote && item.back() == quote) item = item.substr(1, item.size() - 2);
    if (std::string s = plain_text(item, o); !s.empty()) out.push_back(std::move(s));
  }
  return out;
}

// "1, 2, and 3": the word before the last item is none of it.
void leave_out_and(std::vector<std::string>& items) {
  if (items.size() > 1 && items.back().starts_with("and ")) items.back().erase(0, 4);
}

// "a and b": the last item as two, for a list that has one more.
void part_at_and(std::vector<std::string>& items) {
  const size_t at = items.back().rfind(" and ");
  if (at == std::string::npos) return;
  std::string last = items.back().substr(at + 5);
  items.back().erase(at);
  items.push_back(std::move(last));
}

enum class Order { counts, ignored };

class ListVerifier : public Verifier {
 public:
  ListVerifier(const Json& e, Order order) : options_(plain_text_options(e)), order_(order) {
    const Json* answer = e.find("answer");
    if (answer && answer->is_array()) {
      for (const std::string& a : texts_field(e, "answer")) {
        const std::vector<std::string> items = items_of(a, options_);
        if (items.size() != 1) fail("field 'answer': '{}' is not one item of a list", a);
        right_.push_back(items[0]);
      }
    } else {
      right_ = items_of(text_field(e, "answer"), options_);
      leave_out_and(right_);
    }
    if (right_.empty()) fail("field 'answer': expected at least one item");
    if (order_ == Order::ignored) {
      std::ranges::sort(right_);
      if (std::ranges::adjacent_find(right_) != right_.end()) fail("field 'answer': an item stands twice in the set");
    }
  }

  Verdict judge(std::string_view reply) const override {
    const std::string found = extract_answer(reply);
    if (found.size() > kMaxAnswer) return {0, "the answer is too long"};
    std::vector<std::string> given = items_of(found, options_);
    if (given.empty()) return {0, "no answer"};
    if (given != right_) leave_out_and(given);
    if (given.size() + 1 == right_.size()) part_at_and(given);
    if (order_ == Order::ignored) {
      std::ranges::sort(given);
      if (std::ranges::adjacent_find(given) != given.end()) return {0, "the answer names something twice"};
    }
    if (given == right_) return {1, "the list is right"};
    if (given.size() != right_.size())
      return {0, fmt::format("expected {} items, found {}", right_.size(), given.size())};
    return {0, "an item is wrong or in the wrong place"};
  }

 private:
  PlainTextOptions options_;
  Order order_;
  std::vector<std::string> right_ = {};
};

std::string whole_pattern(const Json& e) {
  const std::string& pattern = text_field(e, "pattern");
  if (text::utf8_error(pattern) != std::string::npos) fail("field 'pattern': invalid UTF-8");
  return word_field(e, "match", {"whole", "part"}) == "whole" ? "\\A(?:" + pattern + ")\\z" : pattern;
}

class RegexVerifier : public Verifier {
 public:
  explicit RegexVerifier(const Json& e)
      : regex_(made(e)), in_reply_(word_field(e, "in", {"answer", "reply"}) == "reply") {}

  Verdict judge(std::string_view reply) const override {
    const std::string found = in_reply_ ? std::string(after_thinking(reply)) : extract_answer(reply);
    if (found.empty()) return {0, "no answer"};
    if (found.size() > kMaxAnswer) return {0, "the text is too long for a regular expression"};
    try {
      text::RegexScratch scratch;
      if (regex_.find(text::utf8_lossy(found), 0, scratch)) return {1, "the text matches"};
      return {0, "the text does not match"};
    } catch (const Error& e) {
      return {0, e.what()};
    }
  }

 private:
  static text::Regex made(const Json& e) {
    try {
      return text::Regex(text_field(e, "pattern")), text::Regex(whole_pattern(e));
    } catch (const Error& error) {
      const std::string what = error.what();
      if (what.starts_with("field ")) throw;
      fail("field 'pattern': {}", what);
    }
  }
  text::Regex regex_;
  bool in_reply_;
};

}  // namespace

std::unique_ptr<const Verifier> make_exact(const Json& e) {
  check_fields(e, {"answer", "case", "space", "punctuation"});
  return std::make_unique<ExactVerifier>(e);
}

std::unique_ptr<const Verifier> make_list(const Json& e) {
  check_fields(e, {"answer", "case", "space", "punctuation"});
  return std::make_unique<ListVerifier>(e, Order::counts);
}

std::unique_ptr<const Verifier> make_set(const Json& e) {
  check_fields(e, {"answer", "case", "space", "punctuation"});
  return std::make_unique<ListVerifier>(e, Order::ignored);
}

std::unique_ptr<const Verifier> make_regex(const Json& e) {
  check_fields(e, {"pattern", "match", "in"});
  return std::make_unique<RegexVerifier>(e);
}

}  // namespace quern::verify

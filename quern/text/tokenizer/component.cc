#include "quern/text/tokenizer/component.h"

#include "quern/base/error.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {

const std::string& component_type(const Json& j, std::string_view where) {
  return j.at("type", where).as_string(where);
}

bool field_bool(const Json& j, std::string_view key, bool otherwise) {
  const Json* v = j.find(key);
  return v && !v->is_null() ? v->as_bool(key) : otherwise;
}

std::string field_string(const Json& j, std::string_view key, std::string_view otherwise) {
  const Json* v = j.find(key);
  return v && !v->is_null() ? v->as_string(key) : std::string(otherwise);
}

void unknown_component(std::string_view where, std::string_view type, std::string_view known) {
  fail("tokenizer.json: {} of type '{}' is not supported; known types: {}", where, type, known);
}

void each_component(const Json& j, std::string_view where, std::string_view list,
                    const std::function<void(const Json&)>& leaf) {
  size_t count = 0;
  // Json bounds the depth, so the recursion is bounded too.
  std::function<void(const Json&)> walk = [&](const Json& c) {
    if (++count > kMaxSteps) fail("tokenizer.json: {} has more than {} steps", where, kMaxSteps);
    if (component_type(c, where) != "Sequence") return leaf(c);
    for (const Json& x : c.at(list, where).as_array(where)) walk(x);
  };
  walk(j);
}

Pattern Pattern::literal(std::string s) {
  Pattern p;
  p.literal_ = std::move(s);
  return p;
}

Pattern Pattern::from_json(const Json& j, std::string_view where) {
  const Json& p = j.at("pattern", where);
  if (const Json* s = p.find("String")) {
    if (s->as_string("pattern.String").empty())
      fail("tokenizer.json: {}: an empty pattern.String matches everywhere", where);
    return literal(s->as_string());
  }
  const Json* r = p.find("Regex");
  if (!r) fail("tokenizer.json: {}: pattern must be {{\"String\": …}} or {{\"Regex\": …}}", where);
  Pattern out;
  out.regex_ = std::make_shared<Regex>(r->as_string("pattern.Regex"));
  return out;
}

Regex::Match Pattern::find(std::string_view s, size_t from, RegexScratch& scratch) const {
  if (regex_) return regex_->find(s, from, scratch);
  size_t at = s.find(literal_, from);
  if (at == std::string_view::npos) return {};
  return {at, at + literal_.size()};
}

void replace_all(std::string& text, const Pattern& p, std::string_view with, RegexScratch& scratch) {
  std::string out;
  size_t done = 0, from = 0;
  bool changed = false;
  while (from <= text.size()) {
    Regex::Match m = p.find(text, from, scratch);
    if (!m) break;
    if (!changed) out.reserve(text.size() + text.size() / 4);
    changed = true;
    out.append(text, done, m.begin - done);
    out += with;
    done = m.end;
    from = m.end;
    if (m.end == m.begin) from += m.end < text.size() ? utf8_at(text, m.end).len : 1;
  }
  if (!changed) return;
  out.append(text, done);
  text = std::move(out);
}

}  // namespace quern::text

// Scans over strings, brackets and blanks.
#include "quern/serve/tools/json_members.h"

#include "quern/base/error.h"
#include "quern/base/json.h"

namespace quern::serve {
namespace {

constexpr size_t kOpen = std::string_view::npos;  // the text ends first

size_t blanks(std::string_view t, size_t at) {
  while (at < t.size() && (t[at] == ' ' || t[at] == '\t' || t[at] == '\r' || t[at] == '\n')) ++at;
  return at;
}

size_t string_end(std::string_view t, size_t at) {  // behind the closing quote
  for (++at; at < t.size(); ++at) {
    if (t[at] == '\\')
      ++at;
    else if (t[at] == '"')
      return at + 1;
  }
  return kOpen;
}

size_t value_end(std::string_view t, size_t at) {
  if (t[at] == '"') return string_end(t, at);
  if (t[at] != '{' && t[at] != '[') {
    const size_t end = t.find_first_of(",}] \t\r\n", at);
    return end;
  }
  for (int depth = 0; at < t.size(); ++at) {
    const char c = t[at];
    if (c == '"') {
      at = string_end(t, at);
      if (at == kOpen) return kOpen;
      --at;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return kOpen;
}

}  // namespace

JsonMembers scan_members(std::string_view t, size_t at) {
  JsonMembers r;
  auto malformed = [&] {
    r.state = JsonMembers::State::malformed;
    return r;
  };
  at = blanks(t, at);
  if (at >= t.size()) return r;
  if (t[at] != '{') return malformed();
  at = blanks(t, at + 1);
  for (bool first = true; at < t.size(); first = false) {
    if (t[at] == '}') {
      r.state = JsonMembers::State::whole, r.end = at + 1;
      return r;
    }
    if (!first) {
      if (t[at] != ',') return malformed();
      at = blanks(t, at + 1);
      if (at >= t.size()) return r;
    }
    if (t[at] != '"') return malformed();
    const size_t key_end = string_end(t, at);
    if (key_end == kOpen) return r;
    JsonMember m;
    try {
      m.key = Json::parse(t.substr(at, key_end - at)).as_string();
    } catch (const Error&) {
      return malformed();
    }
    at = blanks(t, key_end);
    if (at >= t.size()) return r;
    if (t[at] != ':') return malformed();
    at = blanks(t, at + 1);
    if (at >= t.size()) return r;
    m.begin = at, m.end = value_end(t, at), m.whole = m.end != kOpen;
    if (!m.whole) m.end = t.size();
    if (m.whole && m.end == m.begin) return malformed();
    r.members.push_back(m);
    if (!m.whole) return r;
    at = blanks(t, m.end);
  }
  return r;
}

}  // namespace quern::serve

// Chooses the format, builds the grammar of calls, and holds what the formats share.
#include "quern/serve/tools/tool_format.h"

#include <algorithm>
#include <cctype>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/serve/tools/json_members.h"

namespace quern::serve {
namespace {

constexpr int64_t kMaxCalls = 16;  // an answer, when calls are required

}  // namespace

const ToolFormat& tool_format_of(std::string_view template_source) {
  for (const ToolFormat* f : {&zaya_format(), &qwen_coder_format(), &hermes_format(), &llama3_format()})
    if (f->taught_by(template_source)) return *f;
  return hermes_format();
}

bool template_knows_tools(std::string_view template_source) {
  return template_source.find("tools") != template_source.npos;
}

text::GrammarItem calls_item(text::GrammarBuilder& b, const ToolFormat& format, const ToolUse& use) {
  std::vector<text::GrammarBuilder::Sequence> either;
  for (const Tool* t : use.callable()) {
    try {
      either.push_back({format.call(b, *t)});
    } catch (const Error& e) {
      fail("tool '{}': {}", t->name, e.what());
    }
  }
  const text::GrammarItem call = b.choice(std::move(either));
  if (!use.parallel) return call;
  const text::GrammarItem more = b.sequence({b.literal(format.between()), call});
  return b.sequence({call, b.repeat(more, 0, kMaxCalls - 1)});
}

size_t tag_overlap(std::string_view text, std::string_view tag) {
  for (size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n)
    if (text.ends_with(tag.substr(0, n))) return n;
  return 0;
}

ToolFormat::CallStart find_tag(std::string_view text, std::string_view tag) {
  const size_t at = text.find(tag);
  return {at, at == text.npos ? tag_overlap(text, tag) : 0};
}

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

std::string unknown_tool(const std::string& name, const ToolUse& use) {
  std::vector<std::string> names;
  for (const Tool* t : use.callable()) names.push_back(t->name);
  return fmt::format("'{}' is none of the tools that may be called{}", name, did_you_mean(name, names));
}

CallRead read_json_call(std::string_view text, size_t at, const ToolUse& use, CallText state) {
  const bool last = state == CallText::ended;
  const JsonMembers object = scan_members(text, at);
  if (object.state == JsonMembers::State::malformed) return CallRead::bad("the call is no JSON object");
  CallRead r;
  const JsonMember* given = nullptr;
  for (const JsonMember& m : object.members) {
    const bool arguments = m.key == "arguments" || m.key == "parameters";
    if ((arguments && given) || (m.key == "name" && !r.name.empty())) return CallRead::bad("the call says it twice");
    if (arguments) given = &m;
    if (m.key != "name" || !m.whole) continue;
    const std::string_view spelled = text.substr(m.begin, m.end - m.begin);
    if (!spelled.starts_with('"')) return CallRead::bad("the call's name is no string");
    try {
      r.name = Json::parse(spelled).as_string();
    } catch (const Error&) {
      return CallRead::bad("the call's name is no JSON string");
    }
    if (!use.find(r.name)) return CallRead::bad(unknown_tool(r.name, use));
  }
  const bool whole = object.state == JsonMembers::State::whole;
  if (whole && r.name.empty()) return CallRead::bad("the call has no name");
  if (whole && !given) r.arguments = "{}";
  if (given && text[given->begin] == '{')
    r.arguments = text.substr(given->begin, given->end - given->begin);
  else if (given && !given->whole)
    return last ? CallRead::bad("the answer ended inside a call") : r;
  if (given && given->whole) {
    try {
      Json value = Json::parse(text.substr(given->begin, given->end - given->begin));
      if (value.is_string()) r.arguments = value.as_string(), value = Json::parse(r.arguments);
      if (value.is_null()) r.arguments = "{}", value = Json::object();
      if (!value.is_object()) return CallRead::bad("the call's arguments are no JSON object");
    } catch (const Error& e) {
      return CallRead::bad(fmt::format("the call's arguments are no JSON: {}", e.what()));
    }
  }
  if (!whole) return last ? CallRead::bad("the answer ended inside a call") : r;
  r.state = CallRead::State::whole, r.end = object.end;
  return r;
}

}  // namespace quern::serve

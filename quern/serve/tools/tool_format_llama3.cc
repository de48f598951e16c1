// Llama 3: the output is {"name": …, "parameters": {…}}, optionally after <|python_tag|>; several calls are separated
// by "; ".
#include "quern/base/json.h"
#include "quern/serve/tools/json_members.h"
#include "quern/serve/tools/tool_format.h"
#include "quern/text/grammar/parse.h"

namespace quern::serve {
namespace {

constexpr std::string_view kTag = "<|python_tag|>";

class Llama3 : public ToolFormat {
 public:
  std::string name() const override { return "llama3"; }
  bool taught_by(std::string_view source) const override {
    return source.find(kTag) != source.npos || source.find("ipython") != source.npos;
  }
  std::vector<std::string> marks() const override { return {std::string(kTag)}; }

  CallStart find(std::string_view text, TextBefore before) const override {
    if (before == TextBefore::some) return find_tag(text, kTag);
    const size_t at = text.find_first_not_of(" \t\r\n;");
    if (at == text.npos) return {.held = text.size()};
    const std::string_view rest = text.substr(at);
    if (rest.starts_with('{') || rest.starts_with(kTag)) return {.at = at, .parted = true};
    if (kTag.starts_with(rest)) return {.held = text.size()};
    return find_tag(text, kTag);
  }

  CallRead read(std::string_view text, const ToolUse& use, CallText state) const override {
    const bool tagged = text.starts_with(kTag);
    const size_t at = tagged ? kTag.size() : 0;
    // A JSON answer that is no call is an answer.
    const JsonMembers object = scan_members(text, at);
    const bool call = object.members.empty() || object.members[0].key == "name" || object.members[0].key == "type";
    if (!tagged && (!call || object.state == JsonMembers::State::malformed)) return CallRead::bad("");
    return read_json_call(text, at, use, state);
  }

  text::GrammarItem call(text::GrammarBuilder& b, const Tool& tool) const override {
    return b.sequence({b.literal(fmt::format("{{\"name\": {}, \"parameters\": ", Json(tool.name).dump())),
                       text::schema_item(b, tool.parameters), b.literal("}")});
  }
  std::string_view between() const override { return "; "; }
  std::string opening() const override { return {}; }
};

}  // namespace

const ToolFormat& llama3_format() {
  static const Llama3 f;
  return f;
}

}  // namespace quern::serve

// Hermes and Qwen: <tool_call>\n{"name": …, "arguments": {…}}\n</tool_call>
#include "quern/base/json.h"
#include "quern/serve/tools/tool_format.h"
#include "quern/text/grammar/parse.h"

namespace quern::serve {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";

class Hermes : public ToolFormat {
 public:
  std::string name() const override { return "hermes"; }
  bool taught_by(std::string_view source) const override { return source.find(kOpen) != source.npos; }
  std::vector<std::string> marks() const override { return {std::string(kOpen), std::string(kClose)}; }
  CallStart find(std::string_view text, TextBefore /*before*/) const override { return find_tag(text, kOpen); }

  CallRead read(std::string_view text, const ToolUse& use, CallText state) const override {
    CallRead r = read_json_call(text, kOpen.size(), use, state);
    if (r.state != CallRead::State::whole) return r;
    const bool last = state == CallText::ended;
    const size_t at = skip_blanks(text, r.end);
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(kClose)) {
      r.end = at + kClose.size();
    } else if (last && rest.empty()) {  // the end of the answer closes the call as well
      r.end = at;
    } else if (kClose.starts_with(rest) && !last) {
      r.state = CallRead::State::open;
    } else {
      return CallRead::bad("the call is not closed by </tool_call>");
    }
    return r;
  }

  text::GrammarItem call(text::GrammarBuilder& b, const Tool& tool) const override {
    return b.sequence({b.literal(fmt::format("{}\n{{\"name\": {}, \"arguments\": ", kOpen, Json(tool.name).dump())),
                       text::schema_item(b, tool.parameters), b.literal(fmt::format("}}\n{}", kClose))});
  }
};

}  // namespace

const ToolFormat& hermes_format() {
  static const Hermes f;
  return f;
}

}  // namespace quern::serve

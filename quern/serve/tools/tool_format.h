// Tool-call formats of model families, one file per format: it finds where a call begins, parses one call from text
// that may still be growing, and describes a call as a grammar. The format is chosen by the markers in the model's
// chat template.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/serve/tools/tools.h"
#include "quern/text/grammar/grammar.h"

namespace quern::serve {

struct CallRead {
  enum class State { open, whole, malformed };
  State state = State::open;
  std::string name = {}, arguments = {};  // as far as they are certain; what comes later only adds to them
  size_t end = 0;                         // of a whole call: behind its last byte
  std::string problem = {};               // of a malformed one; empty: it is no call at all, nothing is wrong
  static CallRead bad(std::string why) { return {.state = State::malformed, .problem = std::move(why)}; }
};

enum class TextBefore : bool { none, some };  // none: nothing but calls and blanks
enum class CallText { open, ended };          // ended: nothing follows

class ToolFormat {
 public:
  virtual ~ToolFormat() = default;
  virtual std::string name() const = 0;
  virtual bool taught_by(std::string_view template_source) const = 0;
  virtual std::vector<std::string> marks() const = 0;  // that may be special tokens of the model

  // Where a call begins; or how many bytes at the end may yet turn out to begin one.
  struct CallStart {
    size_t at = std::string_view::npos, held = 0;
    bool parted = false;  // what stands before `at` only parts this call from the one before
  };
  virtual CallStart find(std::string_view text, TextBefore before) const = 0;
  // `text` begins with a call.
  virtual CallRead read(std::string_view text, const ToolUse& use, CallText state) const = 0;
  virtual text::GrammarItem call(text::GrammarBuilder& b, const Tool& tool) const = 0;
  virtual std::string_view between() const { return "\n"; }  // calls
  // What only a call begins with; empty where calls begin as words may.
  virtual std::string opening() const { return marks()[0]; }
};

const ToolFormat& tool_format_of(std::string_view template_source);  // Hermes where nothing else is taught
bool template_knows_tools(std::string_view template_source);

// One or more calls of use.callable(). Throws Error naming the tool whose schema it cannot follow.
text::GrammarItem calls_item(text::GrammarBuilder& b, const ToolFormat& format, const ToolUse& use);

const ToolFormat& hermes_format();
const ToolFormat& llama3_format();
const ToolFormat& zaya_format();        // <zyphra_tool_call>
const ToolFormat& qwen_coder_format();  // the same in <tool_call>

// Parts that formats share.
size_t tag_overlap(std::string_view text, std::string_view tag);  // the longest end of text that begins tag
ToolFormat::CallStart find_tag(std::string_view text, std::string_view tag);
size_t skip_blanks(std::string_view text, size_t at);
// {"name": …, "arguments" or "parameters": {…}} at `at`.
CallRead read_json_call(std::string_view text, size_t at, const ToolUse& use, CallText state);
std::string unknown_tool(const std::string& name, const ToolUse& use);

}  // namespace quern::serve

// Splits streamed output into content and tool calls. Text that may be part of a call is held back. A call that cannot
// be parsed stays in the content verbatim, with a warning; nothing is dropped but the blanks around calls.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/serve/tools/tool_format.h"

namespace quern::serve {

struct CallDelta {
  size_t index = 0;
  std::string id = {}, name = {};  // in a call's first delta alone
  std::string arguments = {};      // what is added
};

struct ToolPart {
  std::string content = {};
  std::vector<CallDelta> calls = {};
  std::vector<std::string> warnings = {};
};

class ToolStream {
 public:
  ToolStream() = default;  // no tools: everything is content
  ToolStream(const ToolFormat& format, const ToolUse& use) : format_(&format), use_(&use) {}  // both outlive it
  ToolPart push(std::string_view text);
  ToolPart finish();
  const std::vector<ToolCall>& calls() const { return calls_; }             // the whole ones
  bool full() const { return use_ && !use_->parallel && !calls_.empty(); }  // what follows is dropped

 private:
  ToolPart advance(CallText state);
  bool read_call(CallText state, ToolPart& out);  // false: more has to come
  void say(std::string_view text, ToolPart& out);
  const ToolFormat* format_ = nullptr;
  const ToolUse* use_ = nullptr;
  std::string buffer_, blanks_;
  bool in_call_ = false;
  bool said_ = false, after_call_ = false;  // words came that were no call; none since the last call
  ToolCall call_;                           // the one being read, as far as it was given out
  size_t begun_ = 0;                        // calls of which something was given out
  std::vector<ToolCall> calls_;
};

}  // namespace quern::serve

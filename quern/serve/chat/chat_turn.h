// Runs one chat turn on the engine: follows all choices together and splits each into thinking, text and tool calls.
// The chat APIs (completions, messages, responses) write the result in their own formats.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/serve/chat/chat_request.h"
#include "quern/serve/chat/reasoning_split.h"
#include "quern/serve/chat/request_streams.h"
#include "quern/serve/tools/tool_stream.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {

struct ChatPart {  // what became certain
  std::string reasoning;
  ToolPart words;
  bool empty() const {
    return reasoning.empty() && words.content.empty() && words.calls.empty() && words.warnings.empty();
  }
};

struct ChatChoice {
  std::shared_ptr<GenerationStream> answer;
  ReasoningSplit split{infer::ThinkStart::may_open};
  ToolStream tools;
  std::string reasoning, content;
  std::vector<std::string> warnings;
  bool done = false;

  const std::vector<ToolCall>& calls() const { return tools.calls(); }
  std::string finish() const;  // "stop", "length" or "tool_calls"
  std::string stopped_by(const text::Tokenizer& tokenizer, const std::vector<std::string>& stops) const;
};

class ChatTurn {
 public:
  ChatTurn(ServedModel& m, const ChatRequest& r, Exchange& e);  // submits; m and e outlive the turn
  struct StreamCallbacks {
    std::function<void(size_t choice, const ChatPart& part, const TextDelta* piece)> part;
    std::function<void(size_t choice)> done;
    std::function<void(const RequestProgress& p)> progress = {};  // of the first choice, while its prompt is read
  };
  // Until every choice is done; false: the client is gone, and what was left is cancelled. A failure of the engine is
  // an ApiError. `stream`, when there is one, is kept open while nothing comes.
  bool follow(EventStream* stream, const StreamCallbacks& told);
  const std::vector<ChatChoice>& choices() const { return choices_; }
  const Usage& usage() const { return usage_; }

 private:
  // piece: what the part comes from; null: the choice has ended.
  void pass_on(size_t i, const ReasoningSplit::SplitText& part, const TextDelta* piece, const StreamCallbacks& told);
  void warn(size_t i, const char* text, const StreamCallbacks& told);
  void finish(size_t i, const StreamCallbacks& told);
  ServedModel& m_;
  RequestStreams answers_;
  std::vector<ChatChoice> choices_;
  Usage usage_;
  size_t without_a_token_ = 0;  // choices whose time was over before they had one: all of them are a 504
};

}  // namespace quern::serve

// The states between calls and inside one.
#include "quern/serve/tools/tool_stream.h"

#include <cctype>
#include <utility>

#include "quern/base/error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {

ToolPart ToolStream::push(std::string_view text) {
  if (!format_) return {.content = std::string(text)};
  buffer_ += text;
  return advance(CallText::open);
}

ToolPart ToolStream::finish() { return format_ ? advance(CallText::ended) : ToolPart(); }

// Blanks wait until words follow: those before and behind calls belong to nobody.
void ToolStream::say(std::string_view text, ToolPart& out) {
  if (after_call_)
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0])) != 0) text.remove_prefix(1);
  size_t end = text.size();
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1])) != 0) --end;
  if (end > 0) {
    out.content += blanks_;
    out.content += text.substr(0, end);
    blanks_.clear(), said_ = true, after_call_ = false;
  }
  blanks_ += text.substr(end);
}

ToolPart ToolStream::advance(CallText state) {
  const bool last = state == CallText::ended;
  ToolPart out;
  for (;;) {
    if (full()) {
      buffer_.clear();
      break;
    }
    if (!in_call_) {
      const ToolFormat::CallStart p = format_->find(buffer_, TextBefore{said_});
      const size_t end = p.at != std::string::npos ? p.at : buffer_.size() - (last ? 0 : p.held);
      if (!p.parted || !after_call_) say(std::string_view(buffer_).substr(0, end), out);
      buffer_.erase(0, end);
      if (p.at == std::string::npos) break;
      in_call_ = true, call_ = {};
    }
    if (!read_call(state, out)) break;
  }
  if (last && calls_.empty()) out.content += std::exchange(blanks_, {});
  return out;
}

bool ToolStream::read_call(CallText state, ToolPart& out) {
  const CallRead r = format_->read(buffer_, *use_, state);
  if (r.state == CallRead::State::malformed) {
    const bool given = !call_.name.empty();
    if (given) ++begun_;
    if (!r.problem.empty())
      out.warnings.push_back(fmt::format("{}{}; its text is in the content", r.problem,
                                         given ? fmt::format(" (call {}, {})", begun_ - 1, call_.name) : ""));
    // The first byte alone is certainly no call; what is behind it is looked at again.
    said_ = true, after_call_ = false;
    out.content += std::exchange(blanks_, {}) + buffer_.substr(0, 1);
    buffer_.erase(0, 1);
    in_call_ = false;
    return true;
  }
  if (!r.name.empty()) {
    CallDelta d{.index = begun_};
    if (call_.name.empty()) {
      call_.id = new_id("call_"), call_.name = r.name;
      d.id = call_.id, d.name = r.name;
    }
    QUERN_CHECK(r.arguments.starts_with(call_.arguments));
    d.arguments = r.arguments.substr(call_.arguments.size());
    call_.arguments = r.arguments;
    if (!d.name.empty() || !d.arguments.empty()) out.calls.push_back(std::move(d));
  }
  if (r.state == CallRead::State::open) return false;
  calls_.push_back(call_), ++begun_;
  blanks_.clear(), after_call_ = true;
  buffer_.erase(0, r.end);
  in_call_ = false;
  return true;
}

}  // namespace quern::serve

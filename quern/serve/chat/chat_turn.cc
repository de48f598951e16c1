// Splits the text deltas of each choice.
#include "quern/serve/chat/chat_turn.h"

#include <algorithm>

#include "quern/serve/wire/api_error.h"

namespace quern::serve {

std::string ChatChoice::finish() const {
  const std::string how = finish_reason(answer->result().finish);
  return how == "stop" && !calls().empty() ? "tool_calls" : how;
}

// The engine cuts its text before the stop string; the tokens still have it.
std::string ChatChoice::stopped_by(const text::Tokenizer& tokenizer, const std::vector<std::string>& stops) const {
  const infer::Generated& g = answer->result();
  if (g.finish != "stop" || stops.empty()) return {};
  const std::string all = tokenizer.decode(g.tokens);
  size_t first = all.npos;
  std::string found;
  for (const std::string& s : stops)
    if (const size_t at = all.find(s); at < first) first = at, found = s;
  return found;
}

namespace {

// The answer ends with its first call, which has to be seen as it comes.
bool one_call(const ChatRequest& r) { return r.format && !r.tools.parallel; }

}  // namespace

ChatTurn::ChatTurn(ServedModel& m, const ChatRequest& r, Exchange& e) : m_(m), answers_(*m.host, e) {
  for (int64_t i = 0; i < r.n; ++i) {
    infer::Request q{.prompt = r.prompt, .options = r.options};
    q.options.sampling.seed += static_cast<uint64_t>(i);
    ChatChoice c;
    c.split = ReasoningSplit(r.think_start, r.thinking_off ? ReasoningSplit::Cut::yes : ReasoningSplit::Cut::no);
    if (r.format) c.tools = ToolStream(*r.format, r.tools);
    c.answer = answers_.add(std::move(q), {.seconds = r.seconds,
                                           .progress = r.stream && r.progress && i == 0,
                                           .streams = r.stream || one_call(r),
                                           .each_token = r.logprobs || r.format,
                                           .think_start = r.think_start});
    choices_.push_back(std::move(c));
  }
}

bool ChatTurn::follow(EventStream* stream, const StreamCallbacks& told) {
  return answers_.follow(
      stream, {.piece = [&](size_t i, const TextDelta& p) { pass_on(i, choices_[i].split.push(p.text), &p, told); },
               .done = [&](size_t i) { finish(i, told); },
               .read =
                   [&](size_t i) {
                     if (told.progress) told.progress(choices_[i].answer->progress());
                   }});
}

void ChatTurn::pass_on(size_t i, const ReasoningSplit::SplitText& part, const TextDelta* piece,
                       const StreamCallbacks& told) {
  ChatChoice& c = choices_[i];
  ChatPart out{.reasoning = part.reasoning, .words = c.tools.push(part.content)};
  if (!piece) {
    ToolPart rest = c.tools.finish();
    out.words.content += rest.content;
    std::move(rest.calls.begin(), rest.calls.end(), std::back_inserter(out.words.calls));
    std::move(rest.warnings.begin(), rest.warnings.end(), std::back_inserter(out.words.warnings));
  }
  if (c.tools.full()) c.answer->stop();
  c.reasoning += out.reasoning, c.content += out.words.content;
  c.warnings.insert(c.warnings.end(), out.words.warnings.begin(), out.words.warnings.end());
  if (told.part && (piece || !out.empty())) told.part(i, out, piece);
}

void ChatTurn::warn(size_t i, const char* text, const StreamCallbacks& told) {
  ChatPart part;
  part.words.warnings.emplace_back(text);
  choices_[i].warnings.emplace_back(text);
  if (told.part) told.part(i, part, nullptr);
}

void ChatTurn::finish(size_t i, const StreamCallbacks& told) {
  ChatChoice& c = choices_[i];
  const infer::Generated& g = c.answer->result();
  pass_on(i, c.split.finish(), nullptr, told);
  if (g.finish == "timeout" && !g.tokens.empty()) warn(i, kCutByTime, told);
  usage_.prompt = g.prompt_tokens, usage_.cached = std::max(usage_.cached, g.cached_tokens);
  usage_.completion += static_cast<int64_t>(g.tokens.size());
  usage_.reasoning += static_cast<int64_t>(m_.tokenizer.encode(c.reasoning, {.add_special_tokens = false}).size());
  const auto failure = failure_of(g);
  if (too_late(g)) ++without_a_token_;
  if (failure && (!too_late(g) || without_a_token_ == choices_.size())) throw *failure;
  if (told.done) told.done(i);
}

}  // namespace quern::serve

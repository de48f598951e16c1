// Reads the fields that all text endpoints share.
#include "quern/serve/chat/text_request.h"

#include "quern/serve/wire/api_error.h"

namespace quern::serve {

ChatRequest read_text_request(const ServedModel& m, const Json& body, std::vector<int32_t> prompt) {
  const Fields f(body);
  ChatRequest r;
  r.options = read_generation(f, m.defaults, m.tokenizer, m.model->vocab_size());
  r.options.adapters = m.adapters;
  r.seconds = read_timeout(f);
  r.stream = f.boolean("stream").value_or(false);
  r.progress = f.boolean("return_progress").value_or(false);
  r.think_start = infer::ThinkStart::none;
  r.options.constraint = m.constraints->read(f, m.tokenizer, r.think_start);
  if (prompt.empty() && m.tokenizer.bos_id() >= 0) prompt.push_back(m.tokenizer.bos_id());
  if (prompt.empty()) bad_field("prompt", "is empty, and this model has no begin token");
  r.prompt = std::move(prompt);
  r.options.max_tokens = token_budget(m, r.prompt.size(), f.integer("max_tokens", 1, int64_t{1} << 31), "max_tokens");
  return r;
}

}  // namespace quern::serve

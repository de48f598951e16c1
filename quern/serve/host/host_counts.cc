#include "quern/serve/host/host_counts.h"

namespace quern::serve {

void HostCounts::add(const infer::Generated& g) {
  new_tokens += static_cast<int64_t>(g.tokens.size());
  prompt_tokens += g.prompt_tokens, cached_tokens += g.cached_tokens, speculated += g.speculated;
  prompt_seconds += g.prompt_seconds, decode_seconds += g.decode_seconds;
}

void HostCounts::add(const reason::ThinkResult& t) {
  new_tokens += t.new_tokens;
  prompt_tokens += t.prompt_tokens, cached_tokens += t.cached_tokens, speculated += t.speculated;
  prompt_seconds += t.prompt_seconds, decode_seconds += t.decode_seconds;
}

}  // namespace quern::serve

// What an engine host has done since it started, and its load now: the figures of /metrics.
#pragma once
#include <cstdint>

#include "quern/infer/engine/request.h"
#include "quern/reason/think.h"

namespace quern::serve {

struct HostCounts {
  int64_t requests = 0, prompt_tokens = 0, cached_tokens = 0, new_tokens = 0, steps = 0;
  double prompt_seconds = 0, decode_seconds = 0, busy_seconds = 0;
  infer::Speculated speculated;
  int64_t waiting = 0, running = 0, state_bytes = 0, cache_bytes = 0, disk_bytes = 0, disk_read_tokens = 0;
  void add(const infer::Generated& g);     // a request that has ended; `requests` counts at submission
  void add(const reason::ThinkResult& t);  // the same
};

}  // namespace quern::serve

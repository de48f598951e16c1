// GET /metrics: counters and gauges in the text format of Prometheus.
#include "quern/serve/app/app.h"

namespace quern::serve {

void App::metrics(Exchange& e) {
  std::string s;
  auto family = [&](const char* name, const char* type, const char* help) {
    s += fmt::format("# HELP quern_{} {}\n# TYPE quern_{} {}\n", name, help, name, type);
  };
  std::vector<std::pair<std::string, HostCounts>> counts;  // of the loaded ones that have an engine
  int64_t loaded = 0;
  for (const std::string& id : models_->ids())
    if (const auto m = models_->loaded(id)) {
      ++loaded;  // an adapter's requests are its base's, and an encoder has no engine
      if (m->host && !m->base && may_see(e.caller, id)) counts.emplace_back(id, m->host->counts());
    }
  auto each = [&](const char* name, const char* type, const char* help, auto value) {
    family(name, type, help);
    for (const auto& [id, c] : counts) s += fmt::format("quern_{}{{model=\"{}\"}} {}\n", name, id, value(c));
  };
  each("requests_total", "counter", "requests submitted to the engine",
       [](const HostCounts& c) { return c.requests; });
  each("prompt_tokens_total", "counter", "prompt tokens, including cached ones",
       [](const HostCounts& c) { return c.prompt_tokens; });
  each("cached_tokens_total", "counter", "prompt tokens found in the prefix cache",
       [](const HostCounts& c) { return c.cached_tokens; });
  each("generated_tokens_total", "counter", "tokens generated", [](const HostCounts& c) { return c.new_tokens; });
  each("prompt_seconds_total", "counter", "sum of the time to first token, in seconds",
       [](const HostCounts& c) { return c.prompt_seconds; });
  each("decode_seconds_total", "counter", "sum of the decode time after the first token, in seconds",
       [](const HostCounts& c) { return c.decode_seconds; });
  auto by_place = [&](const char* name, const char* help, auto of) {
    family(name, "counter", help);
    for (const auto& [id, c] : counts)
      for (size_t i = 0; i < of(c).size() && of(c)[i] > 0; ++i)
        s += fmt::format("quern_{}{{model=\"{}\",position=\"{}\"}} {}\n", name, id, i + 1, of(c)[i]);
  };
  by_place("drafted_tokens_total", "draft tokens, by position in the draft",
           [](const HostCounts& c) { return c.speculated.drafted; });
  by_place("accepted_tokens_total", "accepted draft tokens, by position in the draft",
           [](const HostCounts& c) { return c.speculated.accepted; });
  each("draft_steps_total", "counter", "steps of a sequence that had draft tokens",
       [](const HostCounts& c) { return c.speculated.steps; });
  each("engine_steps_total", "counter", "engine steps", [](const HostCounts& c) { return c.steps; });
  each("engine_busy_seconds_total", "counter", "seconds spent in engine steps",
       [](const HostCounts& c) { return c.busy_seconds; });
  each("requests_waiting", "gauge", "queued requests", [](const HostCounts& c) { return c.waiting; });
  each("requests_running", "gauge", "running requests", [](const HostCounts& c) { return c.running; });
  each("state_bytes", "gauge", "bytes of KV cache and recurrent state of running requests",
       [](const HostCounts& c) { return c.state_bytes; });
  each("cache_bytes", "gauge", "bytes of the prefix cache", [](const HostCounts& c) { return c.cache_bytes; });
  each("cache_disk_bytes", "gauge", "bytes of the prefix cache on disk",
       [](const HostCounts& c) { return c.disk_bytes; });
  each("cache_disk_read_tokens_total", "counter", "tokens whose state was read from the prefix cache on disk",
       [](const HostCounts& c) { return c.disk_read_tokens; });
  const ModelCounts manager = models_->counts();
  auto whole = [&](const char* name, const char* type, const char* help, auto value) {
    family(name, type, help);
    s += fmt::format("quern_{} {}\n", name, value);
  };
  whole("models_loaded", "gauge", "models in memory, adapters included", loaded);
  whole("model_loads_total", "counter", "models loaded on demand", manager.loads);
  whole("model_unloads_total", "counter", "models unloaded (evicted)", manager.unloads);
  whole("model_load_seconds_total", "counter", "seconds spent loading models", manager.load_seconds);
  family("http_responses_total", "counter", "HTTP responses by path and status");
  {
    std::lock_guard lock(mutex_);
    for (const auto& [what, n] : answered_)
      s += fmt::format("quern_http_responses_total{{path=\"{}\",status=\"{}\"}} {}\n", what.first, what.second, n);
  }
  if (exporter_) {
    const OtlpExporter::Counts spans = exporter_->counts();
    whole("otlp_spans_exported_total", "counter", "spans that the collector took", spans.exported);
    whole("otlp_spans_dropped_total", "counter", "spans that it did not take", spans.dropped);
  }
  admission_.add_metrics(e.caller, s);
  e.answer(200, "text/plain; version=0.0.4",
           s + generation_.text([&](const std::string& id) { return may_see(e.caller, id); }));
}

}  // namespace quern::serve

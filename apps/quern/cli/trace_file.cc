#include "apps/quern/cli/trace_file.h"

#include <vector>

#include "quern/trace/trace.h"
#include "quern/host/trace_report.h"

namespace quern::cli {

TraceFile::TraceFile(const std::string& path, int process) : path_(path), process_(process), file_(path) {
  trace::start();
}

TraceFile::~TraceFile() { trace::stop(); }

std::string TraceFile::finish() {
  const std::vector<trace::Event> events = trace::stop();
  const host::TracePeaks peaks = host::trace_peaks();
  const host::TraceSummary summary = host::summarize(events);
  file_.write(host::chrome_trace(events, process_, host::trace_json(summary, peaks)));
  file_.commit();
  return host::trace_text(summary, peaks) +
         fmt::format("\nwrote {} events to {} (for chrome://tracing or ui.perfetto.dev)\n", events.size(), path_);
}

}  // namespace quern::cli

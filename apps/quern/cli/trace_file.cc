#include "apps/quern/cli/trace_file.h"

#include <vector>

#include "quern/host/host.h"
#include "quern/host/trace_page.h"
#include "quern/host/trace_report.h"
#include "quern/trace/thread_names.h"
#include "quern/trace/trace.h"

namespace quern::cli {
namespace {

std::string page_beside(const std::string& path) {
  constexpr std::string_view kEnding = ".json";
  return (path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path) + ".html";
}

}  // namespace

TraceFile::TraceFile(const std::string& path, int process)
    : path_(path), page_path_(page_beside(path)), process_(process), file_(path) {
  if (!file_.is_stdout()) page_.emplace(page_path_);
  trace::start();
}

TraceFile::~TraceFile() { trace::stop(); }

std::string TraceFile::finish() {
  const std::vector<trace::Event> events = trace::stop();
  const host::TracePeaks peaks = host::trace_peaks();
  const host::TraceSummary summary = host::summarize(events);
  const host::TraceRecord record{.events = events, .thread_names = trace::thread_names(), .process = process_};
  file_.write(host::chrome_trace(record, host::trace_json(summary, peaks)));
  file_.commit();
  std::string text =
      host::trace_text(summary, peaks) +
      fmt::format("\nwrote {} events to {} (for chrome://tracing or ui.perfetto.dev)", events.size(), path_);
  if (page_) {
    host::TracePage page;
    page.trace = record, page.machine = host::host_info().cpu;
    page_->write(host::trace_html(page, summary, peaks));
    page_->commit();
    text += fmt::format(" and as a page to {}", page_path_);
  }
  return text + "\n";
}

}  // namespace quern::cli

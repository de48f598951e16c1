// The HTML page of a trace: a time line of the steps, thread by thread, and tables of parts, operations and products.
// It needs no other file and no network. Filled from web/trace_report.html; web/trace_report.js draws the time line.
#pragma once
#include <string>

#include "quern/host/trace_report.h"

namespace quern::host {

struct TracePage {
  TraceRecord trace;
  std::string machine = {};  // whose peaks they are
  size_t max_spans = 40000;  // on the time line: the longest ones
};

std::string trace_html(const TracePage& page, const TraceSummary& summary, const TracePeaks& peaks);

}  // namespace quern::host

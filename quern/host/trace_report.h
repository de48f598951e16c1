// What a trace says: where a step's time goes, which operations and products take it, how near they come to the machine's
// peaks, how much of the communication is waited for. And the trace in Chrome's format, which chrome://tracing and
// ui.perfetto.dev show.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/trace/trace.h"

namespace quern::host {

// The machine's limits, in operations and bytes a second; 0: unknown.
struct TracePeaks {
  double f32 = 0, bf16 = 0, bandwidth = 0;
};
TracePeaks trace_peaks();  // measured, a few tens of milliseconds

struct TraceRow {
  std::string name;
  bool backward = false;
  int64_t calls = 0;
  double seconds = 0;  // of operations without those inside them, summed over threads
  double flops = 0, bytes = 0;
  double f32_flops = 0;                                 // among flops, those that were multiplied in f32 or f64
  double waited = 0;                                    // of a part: seconds in which it waited for other ranks
  double share_of_peak(const TracePeaks& peaks) const;  // 0: no operations, or the peaks are unknown
};

struct TraceSummary {
  int64_t steps = 0;
  double seconds = 0;                                 // of the steps
  std::vector<TraceRow> parts, operations, products;  // by time
  double communicated = 0, waited = 0, sent = 0;      // seconds under way, seconds waited for, bytes
  double hidden = 0;                                  // seconds in which a thread did something else meanwhile
};
// Products count for the operation around them, that of their own thread, else the innermost that runs meanwhile, and
// for the part that this one is in.
TraceSummary summarize(std::span<const trace::Event> events);

std::string trace_text(const TraceSummary& s, const TracePeaks& peaks);  // tables for people
Json trace_json(const TraceSummary& s, const TracePeaks& peaks);

// What a process recorded.
struct TraceRecord {
  std::span<const trace::Event> events;
  std::map<int, std::string> thread_names = {};
  int process = 0;  // its rank, where ranks are processes
};
// `summary` stands beside the events, under "otherData".
std::string chrome_trace(const TraceRecord& record, Json summary);

}  // namespace quern::host

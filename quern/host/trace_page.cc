#include "quern/host/trace_page.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "quern/base/error.h"
#include "quern/host/trace_lanes.h"
#include "quern/html/html_template.h"
#include "quern/html/web_files.h"

namespace quern::host {
namespace {

using trace::Event;
using trace::Kind;

const html::HtmlTemplate& fragments() {
  static const html::HtmlTemplate t(html::web_file("trace_report.html"));
  return t;
}

// The page's colors. Parts of a training step have those of the training report; parts of an engine's step are its
// counterparts. Operations have seven by their time, then one for all others.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kPartColors = {{{"forward", "p0"},
                                                                                        {"backward", "p1"},
                                                                                        {"gradient reduction", "p2"},
                                                                                        {"optimizer", "p3"},
                                                                                        {"data", "p4"},
                                                                                        {"checkpoint", "p5"},
                                                                                        {"checkpoint write", "p5"},
                                                                                        {"prompt", "p0"},
                                                                                        {"decoding", "p1"},
                                                                                        {"drafts", "p2"},
                                                                                        {"sampling", "p3"}}};
constexpr std::string_view kOther = "p6", kWait = "k1", kTransfer = "k2", kPlain = "band";
constexpr int kOperationColors = 7;

std::string_view part_color(std::string_view name) {
  const auto* found = std::ranges::find(kPartColors, name, &std::pair<std::string_view, std::string_view>::first);
  return found == kPartColors.end() ? kOther : found->second;
}

std::string full_name(std::string_view name, bool backward) {
  return std::string(name) + (backward ? ", backward" : "");
}

class Colors {
 public:
  explicit Colors(const TraceSummary& s) {
    int next = 0;
    for (const TraceRow& r : s.operations)
      if (!operations_.contains(r.name)) operations_[r.name] = std::min(next++, kOperationColors);
  }
  std::string operation(const std::string& name) const {  // the same forward and backward
    const auto found = operations_.find(name);
    return fmt::format("c{}", found == operations_.end() ? kOperationColors : found->second);
  }
  std::string of(const Event& e) const {
    switch (e.kind) {
      case Kind::part:
        return std::string(part_color(e.name));
      case Kind::operation:
        return operation(e.name);
      case Kind::communication:
        return std::string(is_wait(e) ? kWait : kTransfer);
      case Kind::product:
        return std::string(kOther);
      default:
        return std::string(kPlain);
    }
  }

 private:
  std::map<std::string, int> operations_;
};

std::string milliseconds(double seconds) {
  const double ms = 1e3 * seconds;
  return fmt::format("{:.{}f}", ms, ms < 10 ? 3 : ms < 100 ? 2 : 1);
}
std::string percent(double part, double whole) {
  return whole > 0 && part > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}
// As many decimals as a number of this size needs; nothing for nothing.
std::string figure(double x) { return x > 0 ? fmt::format("{:.{}f}", x, x < 1 ? 3 : x < 100 ? 1 : 0) : ""; }

// What the time line draws, for the script: names with their colors and kinds, and lanes of spans, six numbers each:
// row, name, begin and length in microseconds, operations, bytes.
std::string drawing(std::span<const Event> events, const std::vector<TraceLane>& lanes, const Colors& colors) {
  std::map<std::array<std::string, 3>, size_t> index;
  Json names = Json::array(), rows = Json::array(), steps = Json::array();
  for (const TraceLane& lane : lanes) {
    Json one = Json::object(), spans = Json::array();
    for (const LaneSpan& s : lane.spans) {
      const Event& e = events[s.event];
      const std::string name = full_name(e.number >= 0 ? fmt::format("{} {}", e.name, e.number) : e.name, e.backward);
      const std::array<std::string, 3> key = {name, colors.of(e), std::string(trace::kind_name(e.kind))};
      const auto [at, fresh] = index.try_emplace(key, index.size());
      if (fresh) {
        Json n = Json::array();
        for (const std::string& text : key) n.push(text);
        names.push(std::move(n));
      }
      const double begin = std::round(1e7 * e.begin) / 10, length = std::round(1e7 * e.seconds) / 10;
      spans.push(int64_t{s.row}), spans.push(static_cast<int64_t>(at->second)), spans.push(begin), spans.push(length);
      spans.push(std::round(e.flops)), spans.push(std::round(e.bytes));
      if (e.kind == Kind::step) steps.push(begin), steps.push(length);
    }
    one.set("name", lane.name), one.set("rows", int64_t{lane.rows}), one.set("spans", std::move(spans));
    rows.push(std::move(one));
  }
  Json whole = Json::object();
  whole.set("names", std::move(names)), whole.set("steps", std::move(steps)), whole.set("lanes", std::move(rows));
  std::string text = whole.dump(), safe;  // no name ends the script
  for (const char c : text) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

std::string title(std::span<const Event> events, const TraceSummary& s, int process) {
  int64_t first = -1, last = -1;
  std::string name = "step";
  for (const Event& e : events)
    if (e.kind == Kind::step && (name == "step" || e.name == "training step")) name = e.name;
  for (const Event& e : events)
    if (e.kind == Kind::step && e.name == name && e.number >= 0)
      first = first < 0 ? e.number : std::min(first, e.number), last = std::max(last, e.number);
  std::string text = first < 0       ? fmt::format("{} {}{}", s.steps, name, s.steps == 1 ? "" : "s")
                     : first == last ? fmt::format("{} {}", name, first)
                                     : fmt::format("{}s {} to {}", name, first, last);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return process > 0 ? fmt::format("{}, rank {}", text, process) : text;
}

std::string tile(const std::string& name, const std::string& value, const std::string& note) {
  return fragments().fill("tile", {{"name", name}, {"value", value}, {"note", note}});
}

std::string tiles(const TraceSummary& s, const TracePeaks& peaks) {
  const auto steps = static_cast<double>(std::max<int64_t>(1, s.steps));
  std::string out = tile("step", milliseconds(s.seconds / steps) + " ms", fmt::format("mean of {}", s.steps));
  TraceRow all;
  all.seconds = s.seconds;
  for (const TraceRow& r : s.parts) all.flops += r.flops, all.f32_flops += r.f32_flops, all.bytes += r.bytes;
  if (all.flops > 0) {
    out += tile("operations", fmt::format("{:.4g}", 1e-9 * all.flops / steps), "GFLOP per step");
    out += tile("rate", fmt::format("{:.4g}", 1e-9 * all.flops / s.seconds),
                fmt::format("GFLOP/s, {:.1f} % of the peak", 100 * all.share_of_peak(peaks)));
  }
  if (s.sent > 0) {
    out += tile("sent to other ranks", fmt::format("{:.4g} MB", 1e-6 * s.sent / steps), "per step");
    out += tile("communication exposed", milliseconds(s.waited / steps) + " ms", "per step, waited for");
    out += tile("communication hidden", milliseconds(s.hidden / steps) + " ms", "per step, by other work");
  }
  if (peaks.f32 > 0) {
    out += tile("peak, f32", fmt::format("{:.0f}", 1e-9 * peaks.f32), "GFLOP/s, measured after the trace");
    out += tile("peak, bf16", fmt::format("{:.0f}", 1e-9 * peaks.bf16), "GFLOP/s, measured after the trace");
    out += tile("memory, read", fmt::format("{:.0f}", 1e-9 * peaks.bandwidth), "GB/s, measured after the trace");
  }
  return out;
}

// A bar of every step, as long as the step, cut into its parts.
std::string bars(const TraceRecord& trace, const TraceSummary& s) {
  const std::span<const Event> events = trace.events;
  constexpr size_t kMaxBars = 24;
  std::vector<const Event*> steps, parts;
  double maximum = 0;
  for (const Event& e : events) {
    if (e.kind == Kind::step) steps.push_back(&e), maximum = std::max(maximum, e.seconds);
    if (e.kind == Kind::part) parts.push_back(&e);
  }
  std::string out;
  for (const Event* step : std::span(steps).first(std::min(kMaxBars, steps.size()))) {
    double known = 0;
    std::string pieces;
    const auto add = [&](std::string_view name, double seconds) {
      const double share = 100 * seconds / maximum;
      pieces += fragments().fill("piece", {{"width", fmt::format("{:.3f}", share)},
                                           {"color", part_color(name)},
                                           {"name", name},
                                           {"time", milliseconds(seconds)},
                                           {"text", share >= 9 ? milliseconds(seconds) : ""}});
    };
    for (const Event* p : parts)
      if (p->thread == step->thread && p->begin >= step->begin && p->begin < step->begin + step->seconds)
        add(p->name, p->seconds), known += p->seconds;
    if (step->seconds > known) add("other", step->seconds - known);
    std::string name = step->number >= 0 ? fmt::format("{} {}", step->name, step->number) : step->name;
    if (const auto named = trace.thread_names.find(step->thread); named != trace.thread_names.end())
      name += ", " + named->second;
    out +=
        fragments().fill("bar", {{"name", name}, {"time", milliseconds(step->seconds) + " ms"}, {"pieces", pieces}});
  }
  std::string key;
  for (const TraceRow& r : s.parts)
    key += fragments().fill("key-entry", {{"color", part_color(r.name)}, {"name", r.name}});
  std::string note;
  if (steps.size() > kMaxBars)
    note = fragments().fill("note", {{"text", fmt::format("The first {} of {} steps.", kMaxBars, steps.size())}});
  return fragments().fill("bars", {{"key", key}, {"bars", out}, {"note", note}});
}

std::string part_rows(const TraceSummary& s, const TracePeaks& peaks) {
  const auto steps = static_cast<double>(std::max<int64_t>(1, s.steps));
  std::string rows;
  for (const TraceRow& r : s.parts)
    rows += fragments().fill("part", {{"color", part_color(r.name)},
                                      {"name", r.name},
                                      {"ms", milliseconds(r.seconds / steps)},
                                      {"share", percent(r.seconds, s.seconds)},
                                      {"waited", r.waited > 0 ? milliseconds(r.waited / steps) : ""},
                                      {"gflop", figure(1e-9 * r.flops / steps)},
                                      {"rate", r.seconds > 0 ? figure(1e-9 * r.flops / r.seconds) : ""},
                                      {"peak", percent(r.share_of_peak(peaks), 1)}});
  return rows;
}

std::string work_row(const TraceRow& r, std::string_view color, const TraceSummary& s, const TracePeaks& peaks) {
  const auto steps = static_cast<double>(std::max<int64_t>(1, s.steps));
  const double bytes_per_s = r.seconds > 0 ? r.bytes / r.seconds : 0;
  return fragments().fill("work", {{"color", color},
                                   {"name", full_name(r.name, r.backward)},
                                   {"calls", fmt::format("{:.3g}", static_cast<double>(r.calls) / steps)},
                                   {"ms", milliseconds(r.seconds / steps)},
                                   {"share", percent(r.seconds, s.seconds)},
                                   {"gflop", figure(1e-9 * r.flops / steps)},
                                   {"rate", r.seconds > 0 ? figure(1e-9 * r.flops / r.seconds) : ""},
                                   {"peak", percent(r.share_of_peak(peaks), 1)},
                                   {"mb", figure(1e-6 * r.bytes / steps)},
                                   {"gbs", figure(1e-9 * bytes_per_s)},
                                   {"of_read", percent(bytes_per_s, peaks.bandwidth)}});
}

// The first rows, and the others behind a line that opens.
std::string work_table(const char* heading, const std::vector<std::string>& rows) {
  constexpr size_t kShown = 24;
  if (rows.empty()) return "";
  std::string first, rest;
  for (size_t i = 0; i < rows.size(); ++i) (i < kShown ? first : rest) += rows[i];
  std::string out = fragments().fill("work-table", {{"what", heading}, {"rows", first}});
  if (!rest.empty())
    out += fragments().fill("more", {{"n", rows.size() - kShown},
                                     {"table", fragments().fill("work-table", {{"what", heading}, {"rows", rest}})}});
  return out;
}

std::string tables(const TraceSummary& s, const TracePeaks& peaks, const Colors& colors) {
  std::vector<std::string> operations, products;
  for (const TraceRow& r : s.operations) operations.push_back(work_row(r, colors.operation(r.name), s, peaks));
  for (const TraceRow& r : s.products) products.push_back(work_row(r, kOther, s, peaks));
  std::string out = fragments().fill("parts", {{"rows", part_rows(s, peaks)}});
  if (!operations.empty()) out += fragments().fill("operations", {{"table", work_table("operation", operations)}});
  if (!products.empty())
    out += fragments().fill("products", {{"table", work_table("rows × columns × depth, numbers", products)}});
  return out;
}

}  // namespace

std::string trace_html(const TracePage& page, const TraceSummary& summary, const TracePeaks& peaks) {
  const Colors colors(summary);
  const std::vector<Event> shown = longest(page.trace.events, page.max_spans);
  const std::vector<TraceLane> lanes = trace_lanes(shown, page.trace.thread_names);
  std::string note;
  if (shown.size() < page.trace.events.size())
    note = fragments().fill("note", {{"text", fmt::format("The {} longest of {} spans; the tables count all.",
                                                          shown.size(), page.trace.events.size())}});
  const std::string name = title(page.trace.events, summary, page.trace.process);
  return fragments().fill("page", {{"title", name},
                                   {"machine", page.machine},
                                   {"style", html::web_file("report.css")},
                                   {"own_style", html::web_file("trace_report.css")},
                                   {"script", html::web_file("trace_report.js")},
                                   {"data", drawing(shown, lanes, colors)},
                                   {"note", note},
                                   {"tiles", tiles(summary, peaks)},
                                   {"bars", bars(page.trace, summary)},
                                   {"tables", tables(summary, peaks, colors)}});
}

}  // namespace quern::host

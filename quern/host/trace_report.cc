#include "quern/host/trace_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include "quern/base/error.h"
#include "quern/host/host.h"
#include "quern/host/trace_lanes.h"

namespace quern::host {
namespace {

using trace::Event;
using trace::Kind;

bool in_f32(const Event& e) {
  return e.kind == Kind::product && (e.name.ends_with("f32") || e.name.ends_with("f64"));
}

void add_work(TraceRow& row, const Event& e) {
  row.flops += e.flops, row.bytes += e.bytes, row.f32_flops += in_f32(e) ? e.flops : 0;
}

void add_to(TraceRow& row, const Event& e, double seconds) {
  ++row.calls, row.seconds += seconds;
  add_work(row, e);
}

// Rows of one kind, by name and direction.
class Rows {
 public:
  TraceRow& of(const Event& e) {
    TraceRow& row = rows_[{e.name, e.backward}];
    row.name = e.name, row.backward = e.backward;
    return row;
  }
  std::vector<TraceRow> by_time() && {
    std::vector<TraceRow> out;
    for (auto& [key, row] : rows_) out.push_back(std::move(row));
    std::ranges::stable_sort(out, std::greater(), &TraceRow::seconds);
    return out;
  }

 private:
  std::map<std::pair<std::string, bool>, TraceRow> rows_;
};

// The operations, or parts, that run at a moment, while events are taken in the order of their begins.
class Running {
 public:
  // The innermost that runs when `e` begins.
  const Event* around(const Event& e) {
    std::erase_if(open_, [&](const Event* o) { return o->begin + o->seconds <= e.begin; });
    const Event* found = nullptr;
    for (const Event* o : open_)
      if (!found || o->thread == e.thread || found->thread != e.thread) found = o;
    return found;
  }
  void add(const Event& e) { open_.push_back(&e); }

 private:
  std::vector<const Event*> open_;  // in the order of their begins
};

std::string share(double part, double whole) {
  return whole > 0 ? fmt::format("{:5.1f} %", 100 * part / whole) : std::string("      -");
}

std::string rate_columns(const TraceRow& r, const TracePeaks& peaks) {
  const auto per_second = [&](double n) { return r.seconds > 0 ? n / r.seconds : 0; };
  return fmt::format("{:>10.2f}{:>10.1f}{:>9}{:>9.1f}{:>9}", r.flops * 1e-9, per_second(r.flops) * 1e-9,
                     r.flops > 0 ? share(r.share_of_peak(peaks), 1) : "", per_second(r.bytes) * 1e-9,
                     r.bytes > 0 ? share(per_second(r.bytes), peaks.bandwidth) : "");
}

std::string table(std::string_view title, std::span<const TraceRow> rows, const TraceSummary& s,
                  const TracePeaks& peaks, size_t most) {
  if (rows.empty()) return {};
  std::string out = fmt::format("\n{:<40}{:>8}{:>11}{:>9}{:>10}{:>10}{:>9}{:>9}{:>9}\n", title, "calls", "ms a step",
                                "of step", "GFLOP", "GFLOP/s", "of peak", "GB/s", "of peak");
  const auto steps = static_cast<double>(std::max<int64_t>(1, s.steps));
  for (const TraceRow& r : rows.first(std::min(most, rows.size()))) {
    TraceRow each = r;  // of a step
    each.seconds /= steps, each.flops /= steps, each.bytes /= steps, each.f32_flops /= steps;
    out += fmt::format("{:<40}{:>8.3g}{:>11.3f}{:>9}{}\n", r.name + (r.backward ? ", backward" : ""),
                       static_cast<double>(r.calls) / steps, 1e3 * each.seconds, share(r.seconds, s.seconds),
                       rate_columns(each, peaks));
  }
  if (rows.size() > most) {
    double rest = 0;
    for (const TraceRow& r : rows.subspan(most)) rest += r.seconds;
    out += fmt::format("{:<40}{:>8}{:>11.3f}{:>9}\n", fmt::format("{} others", rows.size() - most), "",
                       1e3 * rest / steps, share(rest, s.seconds));
  }
  return out;
}

Json rows_json(std::span<const TraceRow> rows, const TracePeaks& peaks) {
  Json all = Json::array();
  for (const TraceRow& r : rows) {
    Json j = Json::object();
    j.set("name", r.name), j.set("backward", r.backward), j.set("calls", r.calls), j.set("seconds", r.seconds);
    j.set("flops", r.flops), j.set("bytes", r.bytes);
    if (r.waited > 0) j.set("waited_seconds", r.waited);
    if (peaks.f32 > 0 && r.seconds > 0) j.set("share_of_peak", r.share_of_peak(peaks));
    all.push(std::move(j));
  }
  return all;
}

// Threads whose steps and parts count: those that train, and of an engine beside them nothing, as it works meanwhile.
std::set<int> stepping_threads(std::span<const Event> events) {
  std::set<int> train, all;
  for (const Event& e : events) {
    if (e.kind == Kind::step) all.insert(e.thread);
    if (e.kind == Kind::step && e.name == "training step") train.insert(e.thread);
  }
  return train.empty() ? all : train;
}

using Spans = std::vector<std::pair<double, double>>;  // from, to

// Seconds that at least one of them covers.
double covered(Spans spans) {
  std::ranges::sort(spans);
  double seconds = 0, end = 0;
  for (const auto& [from, to] : spans)
    if (to > end) seconds += to - std::max(from, end), end = to;
  return seconds;
}

// Seconds in which transfers were under way and their thread did something else: what all spans cover without what
// waits cover, thread by thread.
double hidden_seconds(std::span<const Event> events) {
  std::map<int, std::pair<Spans, Spans>> by_thread;  // waits, and waits and transfers
  for (const Event& e : events) {
    if (e.kind != Kind::communication) continue;
    auto& [waits, all] = by_thread[e.thread];
    if (is_wait(e)) waits.emplace_back(e.begin, e.begin + e.seconds);
    all.emplace_back(e.begin, e.begin + e.seconds);
  }
  double seconds = 0;
  for (auto& [thread, spans] : by_thread)
    seconds += covered(std::move(spans.second)) - covered(std::move(spans.first));
  return seconds;
}

}  // namespace

double TraceRow::share_of_peak(const TracePeaks& peaks) const {
  if (!(flops > 0 && seconds > 0 && peaks.f32 > 0 && peaks.bf16 > 0)) return 0;
  return (f32_flops / peaks.f32 + (flops - f32_flops) / peaks.bf16) / seconds;
}

TracePeaks trace_peaks() {
  return {.f32 = 1e9 * measure(Bound::f32_flops),
          .bf16 = 1e9 * measure(Bound::bf16_flops),
          .bandwidth = 1e9 * measure(Bound::read)};
}

TraceSummary summarize(std::span<const Event> events) {
  TraceSummary s;
  const std::set<int> stepping = stepping_threads(events);
  Rows parts, operations, products;
  Running running, running_parts;
  double known = 0;
  const auto part_at = [&](const Event& e) -> TraceRow* {
    const Event* part = running_parts.around(e);
    return part && stepping.contains(part->thread) ? &parts.of(*part) : nullptr;
  };
  const auto add_to_part = [&](const Event& around, const Event& work) {
    if (TraceRow* row = part_at(around)) add_work(*row, work);
  };
  for (const Event& e : events) switch (e.kind) {
      case Kind::step:
        if (stepping.contains(e.thread)) ++s.steps, s.seconds += e.seconds;
        break;
      case Kind::part:
        if (stepping.contains(e.thread)) add_to(parts.of(e), e, e.seconds), known += e.seconds;
        running_parts.add(e);
        break;
      case Kind::layer:
        break;
      case Kind::operation:
        add_to(operations.of(e), e, e.own_seconds), running.add(e), add_to_part(e, e);
        break;
      case Kind::product: {
        add_to(products.of(e), e, e.seconds);
        const Event* o = running.around(e);
        if (o) add_work(operations.of(*o), e);
        add_to_part(o ? *o : e, e);
        break;
      }
      case Kind::communication:
        (is_wait(e) ? s.waited : s.communicated) += e.seconds, s.sent += e.bytes;
        if (!is_wait(e)) break;
        if (TraceRow* row = part_at(e)) row->waited += e.seconds;
        break;
    }
  s.hidden = hidden_seconds(events);
  s.parts = std::move(parts).by_time();
  if (s.seconds > known) s.parts.push_back({.name = "other", .seconds = s.seconds - known});
  s.operations = std::move(operations).by_time(), s.products = std::move(products).by_time();
  return s;
}

std::string trace_text(const TraceSummary& s, const TracePeaks& peaks) {
  constexpr size_t kMax = 20;
  const auto steps = static_cast<double>(std::max<int64_t>(1, s.steps));
  std::string out = fmt::format("{} steps, {:.3f} ms each\n\n{:<40}{:>19}{:>9}\n", s.steps, 1e3 * s.seconds / steps,
                                "part of a step", "ms a step", "of step");
  for (const TraceRow& r : s.parts)
    out += fmt::format("{:<40}{:>19.3f}{:>9}\n", r.name, 1e3 * r.seconds / steps, share(r.seconds, s.seconds));
  if (s.sent > 0)
    out += fmt::format(
        "\ncommunication: {:.3f} ms a step waited for, {:.3f} ms hidden by other work; {:.3f} MB sent a step\n",
        1e3 * s.waited / steps, 1e3 * s.hidden / steps, 1e-6 * s.sent / steps);
  out += table("operation", s.operations, s, peaks, kMax);
  return out + table("product (rows x columns x depth)", s.products, s, peaks, kMax);
}

Json trace_json(const TraceSummary& s, const TracePeaks& peaks) {
  Json j = Json::object(), peak = Json::object(), comm = Json::object();
  peak.set("f32_flops", peaks.f32), peak.set("bf16_flops", peaks.bf16), peak.set("read_bytes", peaks.bandwidth);
  comm.set("seconds", s.communicated), comm.set("waited_seconds", s.waited), comm.set("hidden_seconds", s.hidden),
      comm.set("sent_bytes", s.sent);
  j.set("steps", s.steps), j.set("seconds", s.seconds), j.set("peaks", std::move(peak));
  j.set("parts", rows_json(s.parts, {})), j.set("operations", rows_json(s.operations, peaks));
  j.set("products", rows_json(s.products, peaks)), j.set("communication", std::move(comm));
  return j;
}

std::string chrome_trace(const TraceRecord& record, Json summary) {
  constexpr int kTransfers = 1000;  // they run beside what their thread does meanwhile: a line of their own
  Json all = Json::array();
  for (const Event& e : record.events) {
    Json j = Json::object(), args = Json::object();
    j.set("name", e.number >= 0 ? fmt::format("{} {}", e.name, e.number) : e.name + (e.backward ? ", backward" : ""));
    j.set("cat", std::string(trace::kind_name(e.kind))), j.set("ph", "X");
    j.set("ts", 1e6 * e.begin), j.set("dur", 1e6 * e.seconds), j.set("pid", int64_t{record.process});
    j.set("tid", int64_t{e.thread + (is_transfer(e) ? kTransfers : 0)});
    if (e.flops > 0) args.set("GFLOP", 1e-9 * e.flops), args.set("GFLOP/s", 1e-9 * e.flops / e.seconds);
    if (e.bytes > 0) args.set("MB", 1e-6 * e.bytes);
    j.set("args", std::move(args));
    all.push(std::move(j));
  }
  for (const auto& [thread, name] : record.thread_names)
    for (const bool transfers : {false, true}) {
      Json j = Json::object(), args = Json::object();
      j.set("name", "thread_name"), j.set("ph", "M"), j.set("pid", int64_t{record.process});
      j.set("tid", int64_t{thread + (transfers ? kTransfers : 0)});
      args.set("name", transfers ? name + ", transfers" : name), j.set("args", std::move(args));
      all.push(std::move(j));
    }
  Json whole = Json::object();
  whole.set("traceEvents", std::move(all)), whole.set("displayTimeUnit", "ms");
  whole.set("otherData", std::move(summary));
  return whole.dump();
}

}  // namespace quern::host

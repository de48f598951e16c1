#include "quern/host/trace_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include "quern/base/error.h"
#include "quern/host/host.h"

namespace quern::host {
namespace {

using trace::Event;
using trace::Kind;

void add_to(TraceRow& row, const Event& e, double seconds) {
  ++row.calls, row.seconds += seconds, row.flops += e.flops, row.bytes += e.bytes;
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

// The operations that run at a moment, while events are taken in the order of their begins.
class Running {
 public:
  // The innermost operation that runs when `e` begins.
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

// Of the peak that applies to the numbers that were multiplied.
double peak_for(const TraceRow& row, const TracePeaks& peaks) {
  return row.name.find("f32") == row.name.npos && row.name.find("f64") == row.name.npos ? peaks.bf16 : peaks.f32;
}

std::string rate_columns(const TraceRow& r, double peak, double bandwidth) {
  const auto per_second = [&](double n) { return r.seconds > 0 ? n / r.seconds : 0; };
  return fmt::format("{:>10.2f}{:>10.1f}{:>9}{:>9.1f}{:>9}", r.flops * 1e-9, per_second(r.flops) * 1e-9,
                     r.flops > 0 ? share(per_second(r.flops), peak) : "", per_second(r.bytes) * 1e-9,
                     r.bytes > 0 ? share(per_second(r.bytes), bandwidth) : "");
}

std::string table(std::string_view title, std::span<const TraceRow> rows, const TraceSummary& s,
                  const TracePeaks& peaks, size_t most) {
  if (rows.empty()) return {};
  std::string out = fmt::format("\n{:<40}{:>8}{:>11}{:>9}{:>10}{:>10}{:>9}{:>9}{:>9}\n", title, "calls", "ms a step",
                                "of step", "GFLOP", "GFLOP/s", "of peak", "GB/s", "of peak");
  const auto steps = static_cast<double>(std::max<int64_t>(1, s.steps));
  for (const TraceRow& r : rows.first(std::min(most, rows.size()))) {
    TraceRow each = r;  // of a step
    each.seconds /= steps, each.flops /= steps, each.bytes /= steps;
    out += fmt::format("{:<40}{:>8.3g}{:>11.3f}{:>9}{}\n", r.name + (r.backward ? ", backward" : ""),
                       static_cast<double>(r.calls) / steps, 1e3 * each.seconds, share(r.seconds, s.seconds),
                       rate_columns(each, peak_for(r, peaks), peaks.bandwidth));
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
    if (const double peak = peak_for(r, peaks); peak > 0 && r.seconds > 0)
      j.set("share_of_peak", r.flops / r.seconds / peak);
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

}  // namespace

TracePeaks trace_peaks() {
  return {.f32 = 1e9 * measure(Bound::f32_flops),
          .bf16 = 1e9 * measure(Bound::bf16_flops),
          .bandwidth = 1e9 * measure(Bound::read)};
}

TraceSummary summarize(std::span<const Event> events) {
  TraceSummary s;
  const std::set<int> stepping = stepping_threads(events);
  Rows parts, operations, products;
  Running running;
  double known = 0;
  for (const Event& e : events) switch (e.kind) {
      case Kind::step:
        if (stepping.contains(e.thread)) ++s.steps, s.seconds += e.seconds;
        break;
      case Kind::part:
        if (stepping.contains(e.thread)) add_to(parts.of(e), e, e.seconds), known += e.seconds;
        break;
      case Kind::layer:
        break;
      case Kind::operation:
        add_to(operations.of(e), e, e.own_seconds), running.add(e);
        break;
      case Kind::product:
        add_to(products.of(e), e, e.seconds);
        if (const Event* o = running.around(e)) {
          TraceRow& row = operations.of(*o);
          row.flops += e.flops, row.bytes += e.bytes;
        }
        break;
      case Kind::communication:
        (e.bytes > 0 ? s.communicated : s.waited) += e.seconds, s.sent += e.bytes;
        break;
    }
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
  if (s.communicated > 0)
    out += fmt::format(
        "\ncommunication: {:.3f} ms a step under way, {:.3f} ms of them waited for; {:.3f} MB sent a step\n",
        1e3 * s.communicated / steps, 1e3 * s.waited / steps, 1e-6 * s.sent / steps);
  out += table("operation", s.operations, s, peaks, kMax);
  return out + table("product (rows x columns x depth)", s.products, s, peaks, kMax);
}

Json trace_json(const TraceSummary& s, const TracePeaks& peaks) {
  Json j = Json::object(), peak = Json::object(), comm = Json::object();
  peak.set("f32_flops", peaks.f32), peak.set("bf16_flops", peaks.bf16), peak.set("read_bytes", peaks.bandwidth);
  comm.set("seconds", s.communicated), comm.set("waited_seconds", s.waited), comm.set("sent_bytes", s.sent);
  j.set("steps", s.steps), j.set("seconds", s.seconds), j.set("peaks", std::move(peak));
  j.set("parts", rows_json(s.parts, {})), j.set("operations", rows_json(s.operations, peaks));
  j.set("products", rows_json(s.products, peaks)), j.set("communication", std::move(comm));
  return j;
}

std::string chrome_trace(std::span<const Event> events, int process, Json summary) {
  Json all = Json::array();
  for (const Event& e : events) {
    Json j = Json::object(), args = Json::object();
    j.set("name", e.number >= 0 ? fmt::format("{} {}", e.name, e.number) : e.name + (e.backward ? ", backward" : ""));
    j.set("cat", std::string(trace::kind_name(e.kind))), j.set("ph", "X");
    j.set("ts", 1e6 * e.begin), j.set("dur", 1e6 * e.seconds), j.set("pid", int64_t{process});
    // Transfers run beside what their thread does meanwhile: they get a line of their own.
    constexpr int kTransfers = 1000;
    j.set("tid", int64_t{e.thread + (e.kind == Kind::communication && e.bytes > 0 ? kTransfers : 0)});
    if (e.flops > 0) args.set("GFLOP", 1e-9 * e.flops), args.set("GFLOP/s", 1e-9 * e.flops / e.seconds);
    if (e.bytes > 0) args.set("MB", 1e-6 * e.bytes);
    j.set("args", std::move(args));
    all.push(std::move(j));
  }
  Json whole = Json::object();
  whole.set("traceEvents", std::move(all)), whole.set("displayTimeUnit", "ms");
  whole.set("otherData", std::move(summary));
  return whole.dump();
}

}  // namespace quern::host

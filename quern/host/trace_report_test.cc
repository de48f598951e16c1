// Traces: what spans record, whose time is whose, and what the tables and Chrome's file say of it.
#include "quern/host/trace_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace quern::host {
namespace {

using trace::Event;
using trace::Kind;
using trace::Span;

void pass(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

const Event& named(const std::vector<Event>& events, std::string_view name) {
  for (const Event& e : events)
    if (e.name == name) return e;
  throw std::runtime_error(std::string(name) + " was not recorded");
}

TEST(Trace, RecordsNothingUntilItBegins) {
  { const Span before(Kind::step, "before"); }
  Span across(Kind::step, "across");
  trace::start();
  { const Span inside(Kind::step, "inside"); }
  const std::vector<Event> events = trace::stop();
  { const Span after(Kind::step, "after"); }
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "inside");
  EXPECT_TRUE(trace::stop().empty());
}

TEST(Trace, TimeOfOperationsInsideBelongsToThem) {
  trace::start();
  {
    const Span part(Kind::part, "forward");
    const Span outer(Kind::operation, "outer");
    pass(4);
    {
      const Span layer(Kind::layer, "layer", 3);
      const Span inner(Kind::operation, "inner");
      pass(12);
    }
  }
  const std::vector<Event> events = trace::stop();
  const Event &outer = named(events, "outer"), &inner = named(events, "inner");
  EXPECT_GE(inner.seconds, 0.012);
  EXPECT_EQ(inner.own_seconds, inner.seconds);
  EXPECT_NEAR(outer.own_seconds, outer.seconds - inner.seconds, 1e-12);
  EXPECT_GE(outer.own_seconds, 0.004);
  EXPECT_EQ(named(events, "layer").number, 3);
  EXPECT_EQ(events.front().name, "forward") << "in the order of their begins";
}

// A product that a worker thread computes is work of the operation that waits for it.
TEST(Trace, ProductsCountForTheOperationAround) {
  trace::start();
  {
    const Span step(Kind::step, "step");
    const Span part(Kind::part, "forward");
    const Span o(Kind::operation, "experts");
    std::thread([] {
      Span p(Kind::product, "8 x 8 x 8 f32");
      p.count(1024, 768);
      const Span within(Kind::product, "part of it");
      trace::count(1, 1);
    }).join();
    trace::count(10, 20);
  }
  { const Span idle(Kind::operation, "idle"); }
  const TraceSummary s = summarize(trace::stop());
  ASSERT_EQ(s.products.size(), 1u);
  EXPECT_EQ(s.products[0].flops, 1025);
  const auto experts = std::ranges::find(s.operations, "experts", &TraceRow::name);
  ASSERT_NE(experts, s.operations.end());
  EXPECT_EQ(experts->flops, 1035);
  EXPECT_EQ(experts->bytes, 789);
  EXPECT_EQ(std::ranges::find(s.operations, "idle", &TraceRow::name)->flops, 0);
  EXPECT_EQ(s.steps, 1);
}

// An engine that samples for the trainer: what it does inside a training step is no step, nor is what it does beside it.
TEST(Trace, StepsInsideAndBesideTrainingAreNoSteps) {
  trace::start();
  {
    const Span step(Kind::step, "training step", 1);
    const Span part(Kind::part, "data");
    std::thread([] {
      const Span beside(Kind::step, "engine step");
      const Span part(Kind::part, "decoding");
    }).join();
    const Span inside(Kind::step, "engine step");
    const Span decoding(Kind::part, "decoding");
  }
  const TraceSummary training = summarize(trace::stop());
  EXPECT_EQ(training.steps, 1);
  EXPECT_EQ(training.parts[0].name, "data");
  for (const TraceRow& r : training.parts) EXPECT_NE(r.name, "decoding");
  trace::start();
  {
    const Span step(Kind::step, "engine step");
    const Span part(Kind::part, "decoding");
  }
  const TraceSummary alone = summarize(trace::stop());
  EXPECT_EQ(alone.steps, 1);
  EXPECT_EQ(alone.parts[0].name, "decoding");
}

TEST(Trace, TransfersAreUnderWayAndWaitedFor) {
  trace::start();
  trace::Pending transfer;
  transfer.begin(Kind::communication, "reduce_scatter", 1000);
  pass(3);
  {
    const Span wait(Kind::communication, "waiting");
    pass(1);
  }
  transfer.end();
  const TraceSummary s = summarize(trace::stop());
  EXPECT_EQ(s.sent, 1000);
  EXPECT_GT(s.communicated, s.waited + 0.002);
}

TEST(Trace, TablesAndChromesFileSayTheSame) {
  std::vector<Event> events = {
      {.name = "step", .kind = Kind::step, .number = 7, .begin = 0, .seconds = 0.010},
      {.name = "forward", .kind = Kind::part, .begin = 0.001, .seconds = 0.006},
      {.name = "linear",
       .kind = Kind::operation,
       .backward = true,
       .begin = 0.002,
       .seconds = 0.002,
       .own_seconds = 0.002},
      {.name = "64 x 64 x 64 f32",
       .kind = Kind::product,
       .begin = 0.002,
       .seconds = 0.001,
       .flops = 5e6,
       .bytes = 1e6},
  };
  const TracePeaks peaks{.f32 = 1e10, .bf16 = 4e10, .bandwidth = 1e10};
  const TraceSummary s = summarize(events);
  ASSERT_EQ(s.parts.size(), 2u);
  EXPECT_EQ(s.parts[1].name, "other");
  EXPECT_NEAR(s.parts[1].seconds, 0.004, 1e-12);
  const std::string text = trace_text(s, peaks);
  EXPECT_NE(text.find("linear, backward"), text.npos) << text;
  EXPECT_NE(text.find("50.0 %"), text.npos) << "5e6 operations in a millisecond are half of 1e10 a second\n" << text;
  const Json j = Json::parse(chrome_trace({.events = events, .process = 2}, trace_json(s, peaks)));
  const auto& all = j.at("traceEvents", "trace").as_array("traceEvents");
  ASSERT_EQ(all.size(), events.size());
  EXPECT_EQ(all[0].at("name", "event").as_string("name"), "step 7");
  EXPECT_EQ(all[2].at("dur", "event").as_double("dur"), 2000);
  EXPECT_EQ(all[3].at("pid", "event").as_int("pid"), 2);
  EXPECT_EQ(
      j.at("otherData", "trace").at("products", "trace").as_array("products")[0].at("share_of_peak").as_double(),
      0.5);
}

}  // namespace
}  // namespace quern::host

// The page of a trace: lanes whose rows follow from the times, hidden and exposed communication, and a page that holds
// what it draws and needs nothing else.
#include "quern/host/trace_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "quern/base/rng.h"
#include "quern/host/trace_lanes.h"
#include "quern/trace/thread_names.h"

namespace quern::host {
namespace {

using trace::Event;
using trace::Kind;

Event event(Kind kind, std::string name, int thread, double begin, double seconds) {
  Event e;
  e.name = std::move(name), e.kind = kind, e.thread = thread, e.begin = begin;
  e.seconds = e.own_seconds = seconds;
  return e;
}

std::vector<Event> in_order(std::vector<Event> events) {  // as trace::stop() gives them
  std::ranges::stable_sort(events, {}, &Event::begin);
  return events;
}

// Two ranks; the first waits for 2 of the 10 seconds in which its transfer is under way.
std::vector<Event> two_ranks() {
  std::vector<Event> events = {
      event(Kind::part, "forward", 3, 0, 4),           event(Kind::operation, "linear", 3, 1, 2),
      event(Kind::step, "training step", 3, 0, 12),    event(Kind::part, "backward", 3, 4, 8),
      event(Kind::communication, "waiting", 3, 10, 2), event(Kind::communication, "reduce_scatter", 3, 2, 10),
      event(Kind::step, "training step", 5, 0, 12),    event(Kind::part, "forward", 5, 0, 12),
      event(Kind::product, "8 x 8 x 8 bf16", 4, 1, 1), event(Kind::product, "8 x 8 x 8 f32", 4, 2, 1),
  };
  events[2].number = events[6].number = 7;
  events[5].bytes = 4000;
  events[8].flops = events[9].flops = 100;
  return in_order(std::move(events));
}

TEST(TraceLanes, ThreadsThatStepComeFirstAndTransfersLieApart) {
  const std::vector<Event> events = two_ranks();
  const std::vector<TraceLane> lanes = trace_lanes(events, {{3, "rank 0"}, {5, "rank 1"}});
  std::vector<std::string> names;
  for (const TraceLane& l : lanes) names.push_back(l.name);
  EXPECT_EQ(names, (std::vector<std::string>{"rank 0", "rank 0, transfers", "rank 1", "thread 4"}));
  std::map<std::string, int> row;
  for (const LaneSpan& s : lanes[0].spans) row[events[s.event].name] = s.row;
  EXPECT_EQ(row, (std::map<std::string, int>{
                     {"training step", 0}, {"forward", 1}, {"linear", 2}, {"backward", 1}, {"waiting", 2}}));
  EXPECT_EQ(lanes[0].rows, 3);
}

TEST(TraceLanes, RanksComeInTheirOrder) {
  const std::vector<Event> events = {event(Kind::step, "training step", 1, 0, 1),
                                     event(Kind::step, "training step", 2, 0, 1),
                                     event(Kind::step, "training step", 3, 0, 1)};
  std::vector<std::string> order;
  for (const TraceLane& l : trace_lanes(events, {{1, "rank 10"}, {2, "rank 2"}, {3, "rank 0"}}))
    order.push_back(l.name);
  EXPECT_EQ(order, (std::vector<std::string>{"rank 0", "rank 2", "rank 10"}));
}

TEST(TraceLanes, ThreadsOfOneNameShareALane) {
  const std::vector<Event> events = {event(Kind::part, "checkpoint write", 4, 0, 1),
                                     event(Kind::part, "checkpoint write", 9, 0.5, 1),
                                     event(Kind::part, "checkpoint write", 6, 2, 1)};
  const std::vector<TraceLane> lanes = trace_lanes(events, {{4, "writer"}, {6, "writer"}, {9, "writer"}});
  ASSERT_EQ(lanes.size(), 1u);
  EXPECT_EQ(lanes[0].rows, 2);
  EXPECT_EQ(lanes[0].spans.size(), 3u);
}

// Whatever spans there are: no two of a lane overlap in a row, and the longer of two that begin together lies above.
TEST(TraceLanes, SpansOfARowDoNotOverlap) {
  Rng rng(5);
  std::vector<Event> events;
  for (int i = 0; i < 300; ++i)
    events.push_back(event(i % 3 ? Kind::operation : Kind::communication, "x", static_cast<int>(rng.below(3)),
                           static_cast<double>(rng.below(50)), 1 + static_cast<double>(rng.below(9))));
  events = in_order(std::move(events));
  size_t seen = 0;
  for (const TraceLane& lane : trace_lanes(events, {})) {
    std::map<int, double> end;
    for (const LaneSpan& s : lane.spans) {
      const Event& e = events[s.event];
      EXPECT_GE(e.begin, end[s.row]);
      EXPECT_LT(s.row, lane.rows);
      end[s.row] = e.begin + e.seconds, ++seen;
    }
  }
  EXPECT_EQ(seen, events.size());
}

TEST(TraceLanes, KeepsTheLongest) {
  std::vector<Event> events;
  for (const int seconds : {5, 1, 9, 3, 3, 7})
    events.push_back(event(Kind::operation, std::to_string(seconds), 0, static_cast<double>(events.size()), seconds));
  const auto names = [&](size_t most) {
    std::string all;
    for (const Event& e : longest(events, most)) all += e.name;
    return all;
  };
  EXPECT_EQ(names(6), "519337");
  EXPECT_EQ(names(3), "597");
  EXPECT_EQ(names(4), "597") << "both of 3 seconds or none";
}

TEST(TraceSummary, CommunicationIsHiddenWhereItsThreadDoesSomethingElse) {
  const TraceSummary s = summarize(two_ranks());
  EXPECT_EQ(s.waited, 2);
  EXPECT_EQ(s.hidden, 8);
  // Two at once hide no more than the time that they cover: 2 to 12 and 6 to 13 are 11, of which 2 are waited for.
  std::vector<Event> events = two_ranks();
  events.push_back(event(Kind::communication, "all_gather", 3, 6, 7));
  EXPECT_EQ(summarize(in_order(std::move(events))).hidden, 9);
}

TEST(TraceSummary, PartsHoldTheirWorkAndTheirWaits) {
  const TraceSummary s = summarize(two_ranks());
  const auto part = [&](const char* name) { return *std::ranges::find(s.parts, name, &TraceRow::name); };
  EXPECT_EQ(part("backward").waited, 2);
  EXPECT_EQ(part("forward").waited, 0);
  EXPECT_EQ(part("forward").flops, 200) << "a helper's products, beside the operation of the first rank";
  // 100 operations at 10 a second and 100 at 50: 12 of the 16 seconds at the machine's rate.
  const TracePeaks peaks{.f32 = 10, .bf16 = 50, .bandwidth = 1};
  EXPECT_DOUBLE_EQ(part("forward").share_of_peak(peaks), 12.0 / 16);
  EXPECT_EQ(part("backward").share_of_peak(peaks), 0);
}

Json drawn(const std::string& html) {
  const std::string_view open = "id=\"trace\">", close = "</script>";
  const size_t from = html.find(open) + open.size();
  return Json::parse(html.substr(from, html.find(close, from) - from));
}

TEST(TracePage, HoldsWhatItDrawsAndNeedsNothingElse) {
  std::vector<Event> events = two_ranks();
  events.push_back(event(Kind::operation, "a</script><u>", 5, 11, 0.5));
  const TraceSummary s = summarize(events);
  TracePage page;
  page.trace.events = events, page.machine = "A & B";
  page.trace.thread_names = {{3, "rank 0"}};
  const std::string html = trace_html(page, s, {10, 50, 1});
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "<u>"})
    EXPECT_EQ(html.find(outside), html.npos) << outside;
  for (const char* text :
       {"<h1>Training step 7</h1>", "A &amp; B", "communication hidden", "8 x 8 x 8 bf16", "waiting"})
    EXPECT_NE(html.find(text), html.npos) << text;
  const Json j = drawn(html);
  const auto& lanes = j.at("lanes", "page").as_array("lanes");
  size_t numbers = 0;
  for (const Json& lane : lanes) numbers += lane.at("spans", "lane").as_array("spans").size();
  EXPECT_EQ(numbers, 6 * events.size());
  const auto& first = lanes[0].at("spans", "lane").as_array("spans");
  const auto& names = j.at("names", "page").as_array("names");
  const auto name_of = [&](size_t span) {
    return names[static_cast<size_t>(first[6 * span + 1].as_int("name"))].as_array("name")[0].as_string("name");
  };
  EXPECT_EQ(name_of(0), "training step 7");
  EXPECT_EQ(name_of(2), "linear");
  EXPECT_EQ(first[6 * 2 + 2].as_double("begin"), 1e6);
  EXPECT_EQ(first[6 * 2 + 3].as_double("length"), 2e6);
  EXPECT_EQ(std::ranges::count_if(names,
                                  [](const Json& n) { return n.as_array("n")[0].as_string("n") == "a</script><u>"; }),
            1);
}

TEST(TracePage, SaysWhatItLeavesOut) {
  const std::vector<Event> events = two_ranks();
  TracePage page;
  page.trace.events = events, page.max_spans = 4;
  const std::string html = trace_html(page, summarize(events), {});
  EXPECT_NE(html.find("longest of 10 spans"), html.npos);
}

TEST(Trace, ThreadsHaveNumbersAndNames) {
  int number = -1;
  std::thread([&] {
    trace::name_thread("a helper");
    number = trace::thread_number();
  }).join();
  EXPECT_NE(number, trace::thread_number());
  EXPECT_EQ(trace::thread_names().at(number), "a helper");
  EXPECT_FALSE(trace::thread_names().contains(trace::thread_number()));
}

}  // namespace
}  // namespace quern::host

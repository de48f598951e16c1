// metrics.jsonl: lines as written, read back, mended after a kill, moved away when training goes back, and refused
// when broken.
#include "quern/train/report/metrics.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("quern_metrics_{}", ::getpid());
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path metrics() const { return path / "metrics.jsonl"; }
  std::string discarded() const { return read_file(path / "metrics.discarded.jsonl"); }
};

StepMetrics step(int64_t n) {
  StepMetrics m;
  m.step = n, m.phase = "pretrain", m.loss = 5.0 / static_cast<double>(n), m.tokens = 1000 * n;
  m.tokens_per_s = 250, m.lr = 1e-3, m.grad_norm = 0.5, m.time_s = 4, m.forward_s = 1.5, m.backward_s = 2.5;
  return m;
}

TEST(Metrics, ALineOfEachKind) {
  Folder d;
  {
    MetricsFile f(d.path, MetricsFile::kNew);
    StepMetrics s = step(2);
    s.bpb = 1.25;
    f.write(s);
    f.write(EvalMetrics{.step = 2, .tokens = 2000, .set = "prose", .eval_loss = 2.75, .eval_bpb = {}});
    f.write(EventMetrics{.step = 2, .tokens = 2000, .event = "spike", .text = "loss 9 is \"far\" above 3"});
  }
  EXPECT_EQ(read_file(d.metrics()),
            R"({"step":2,"phase":"pretrain","loss":2.5,"bpb":1.25,"tokens":2000,"tokens_per_s":250.0,"lr":0.001,)"
            R"("grad_norm":0.5,"time_s":4.0,"data_s":0.0,"forward_s":1.5,"backward_s":2.5,"reduce_s":0.0,)"
            R"("optimizer_s":0.0,"checkpoint_s":0.0,"other_s":0.0})"
            "\n"
            R"({"step":2,"tokens":2000,"set":"prose","eval_loss":2.75})"
            "\n"
            R"({"step":2,"tokens":2000,"event":"spike","text":"loss 9 is \"far\" above 3"})"
            "\n");
  const RunMetrics r = read_metrics(d.metrics());
  ASSERT_EQ(r.steps.size(), 1u);
  EXPECT_EQ(r.steps[0].bpb, 1.25);
  EXPECT_EQ(r.steps[0].mfu, std::nullopt);
  EXPECT_EQ(r.steps[0].backward_s, 2.5);
  ASSERT_EQ(r.evals.size(), 1u);
  EXPECT_EQ(r.evals[0].set, "prose");
  EXPECT_EQ(r.evals[0].eval_loss, 2.75);
  EXPECT_EQ(r.evals[0].eval_bpb, std::nullopt);
  ASSERT_EQ(r.events.size(), 1u);
  EXPECT_EQ(r.events[0].text, "loss 9 is \"far\" above 3");
}

TEST(Metrics, WhatIsNotFiniteIsNullAndComesBackAsNotANumber) {
  Folder d;
  StepMetrics s = step(1);
  s.loss = std::numeric_limits<double>::infinity(), s.grad_norm = std::nan("");
  MetricsFile(d.path, MetricsFile::kNew).write(s);
  EXPECT_NE(read_file(d.metrics()).find("\"loss\":null"), std::string::npos);
  const RunMetrics r = read_metrics(d.metrics());
  EXPECT_TRUE(std::isnan(r.steps.at(0).loss));
  EXPECT_TRUE(std::isnan(r.steps.at(0).grad_norm));
}

TEST(Metrics, ResumingMovesLaterStepsAwayAndKeepsEvents) {
  Folder d;
  {
    MetricsFile f(d.path, MetricsFile::kNew);
    for (int64_t n = 1; n <= 5; ++n) f.write(step(n));
    f.write(EvalMetrics{.step = 5, .tokens = 5000, .set = "prose", .eval_loss = 1, .eval_bpb = {}});
    f.write(EventMetrics{.step = 5, .tokens = 5000, .event = "spike", .text = "x"});
  }
  const std::string before = read_file(d.metrics());
  {
    MetricsFile f(d.path, 3);
    EXPECT_EQ(f.discarded(), 3);
    StepMetrics again = step(4);
    again.loss = 42;
    f.write(again);
  }
  const RunMetrics r = read_metrics(d.metrics());
  ASSERT_EQ(r.steps.size(), 4u);
  EXPECT_EQ(r.steps[3].loss, 42);
  EXPECT_TRUE(r.evals.empty());
  EXPECT_EQ(r.events.size(), 1u);
  // No line is lost: those discarded are the old file's, as they were.
  const std::string gone = d.discarded();
  EXPECT_EQ(std::count(gone.begin(), gone.end(), '\n'), 3);
  EXPECT_NE(before.find(gone.substr(0, gone.find("{\"step\":5,\"tokens\""))), std::string::npos);
  EXPECT_NE(gone.find("\"eval_loss\":1.0"), std::string::npos);

  MetricsFile f(d.path, 4);  // nothing to move: the file stays as it is
  EXPECT_EQ(f.discarded(), 0);
  EXPECT_EQ(d.discarded(), gone);
  f.discard_after(1);  // a rollback within the run
  EXPECT_EQ(f.discarded(), 3);
  f.write(step(2));
  EXPECT_EQ(read_metrics(d.metrics()).steps.size(), 2u);
}

TEST(Metrics, ANewRunInAnOldFolderStartsEmpty) {
  Folder d;
  {
    MetricsFile old(d.path, MetricsFile::kNew);
    old.write(EvalMetrics{.step = 0, .tokens = 0, .set = "a", .eval_loss = 1, .eval_bpb = {}});
    old.write(EventMetrics{.step = 0, .tokens = 0, .event = "restart", .text = "x"});
  }
  MetricsFile f(d.path, MetricsFile::kNew);
  EXPECT_EQ(f.discarded(), 2);
  EXPECT_EQ(read_file(d.metrics()), "");
}

TEST(Metrics, ACutInTheLastLineIsMended) {
  Folder d;
  {
    MetricsFile f(d.path, MetricsFile::kNew);
    f.write(step(1)), f.write(step(2));
  }
  const std::string whole = read_file(d.metrics());
  const size_t first = whole.find('\n') + 1;
  for (size_t cut = first; cut <= whole.size(); cut += cut + 12 < whole.size() ? 9 : 1) {
    write_file(d.metrics(), whole.substr(0, cut));
    const size_t complete = cut + 1 >= whole.size() ? 2 : 1;  // all but the newline is a whole line too
    EXPECT_EQ(read_metrics(d.metrics()).steps.size(), complete) << cut;
    MetricsFile f(d.path, 2);
    EXPECT_EQ(f.discarded(), cut > first && complete == 1 ? 1 : 0) << cut;
    f.write(step(3));
    EXPECT_EQ(read_metrics(d.metrics()).steps.size(), complete + 1) << cut;
  }
}

TEST(Metrics, BrokenLinesAreNamed) {
  Folder d;
  auto message = [&](const std::string& text) {
    write_file(d.metrics(), text);
    return message_of([&] { read_metrics(d.metrics()); });
  };
  EXPECT_NE(
      message("{\"step\":1,\"loss\":2}\nloss 3\n").find("metrics.jsonl:2: expected a JSON object, found 'loss 3'"),
      std::string::npos);
  EXPECT_NE(message("{\"step\":1}\n").find("'eval_loss'"), std::string::npos);
  EXPECT_NE(message("{\"loss\":1}\n").find("field 'step' is missing"), std::string::npos);
  EXPECT_NE(
      message("{\"step\":1,\"loss\":\"low\"}\n").find("metrics.jsonl:1, loss: expected a number, found a string"),
      std::string::npos);
  EXPECT_NE(message("{\"step\":-1,\"loss\":1}\n").find("step -1"), std::string::npos);
  EXPECT_EQ(message("{\"step\":1,\"loss\":1}\n{\"st"), "");  // a killed run's last line
  EXPECT_NE(message_of([&] { read_metrics(d.path / "none.jsonl"); }).find("cannot open"), std::string::npos);
}

struct TableWriter {
  std::string& out;
  template <class T>
  void operator()(const char* name, T&, const char* help) {
    out += fmt::format("| `{}` | {} |\n", name, help);
  }
};

template <class M>
void add_table(std::string& out, const char* kind) {
  out += fmt::format("\n| {} | |\n|---|---|\n", kind);
  M m;
  TableWriter w{out};
  m.visit(w);
}

TEST(Metrics, TheDocumentsTableIsTheStructs) {
  std::string table;
  add_table<StepMetrics>(table, "a step");
  add_table<EvalMetrics>(table, "an evaluation");
  add_table<EventMetrics>(table, "an event");
  const std::string doc = read_file(fs::path(QUERN_SOURCE_DIR) / "docs/metrics.md"),
                    begin = "<!-- metrics: begin -->\n";
  const size_t from = doc.find(begin) + begin.size();
  EXPECT_EQ(doc.substr(from, doc.find("<!-- metrics: end -->") - from), table + "\n") << "docs/metrics.md";
}

TEST(Metrics, ALineTheDiskHasNoRoomForIsTakenBack) {
  Folder d;
  auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  MetricsFile f(d.path, MetricsFile::kNew);
  f.write(step(1));
  rlimit small = old;
  small.rlim_cur = fs::file_size(d.metrics()) + 20;  // room for a part of the next line
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of([&] { f.write(step(2)); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(message.find("cannot write"), std::string::npos) << message;
  f.write(step(3));
  const RunMetrics r = read_metrics(d.metrics());
  ASSERT_EQ(r.steps.size(), 2u);
  EXPECT_EQ(r.steps[1].step, 3);
}

}  // namespace
}  // namespace quern::train

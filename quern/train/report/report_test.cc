// The report: what is done to numbers before they are drawn, the drawn values read back out of the page, what the
// page promises (whole, self-contained, nothing foreign unescaped), and runs that cannot be drawn.
#include "quern/train/report/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/train/report/report_chart.h"

namespace quern::train::report {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("quern_report_{}", ::getpid());
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

// Loss falls by 0.01 a step from 4, over two phases; every 10th step is evaluated.
void write_run(const fs::path& folder, int64_t n = 200) {
  fs::create_directories(folder);
  MetricsFile f(folder, MetricsFile::kNew);
  for (int64_t s = 1; s <= n; ++s) {
    StepMetrics m;
    m.step = s, m.phase = s <= n * 3 / 4 ? "pretrain" : "sft", m.tokens = 1000 * s;
    m.loss = 4 - 0.01 * static_cast<double>(s), m.bpb = m.loss / 2, m.tokens_per_s = 500, m.mfu = 0.5;
    m.lr = 1e-3, m.grad_norm = 1, m.time_s = 2, m.forward_s = 0.5, m.backward_s = 1.5;
    f.write(m);
    if (s % 10 == 0)
      f.write(EvalMetrics{.step = s, .tokens = m.tokens, .set = "prose", .eval_loss = m.loss + 0.1, .eval_bpb = {}});
  }
  f.write(
      EventMetrics{.step = 50, .tokens = 50000, .event = "spike", .text = "a <script>alert(1)</script> & \"so\""});
  write_file(folder / "recipe.json",
             R"({"name": "n<b>", "model": {"family": "zaya", "parameters": 8650752, "cca": {"heads": 4}},)"
             R"("data": [{"name": "prose", "weight": 0.6}, {"name": "sums", "weight": 0.4, "level": 3}]})");
}

std::vector<Run> one(const std::string& folder) { return read_runs(std::vector<std::string>{folder}); }

size_t count(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

std::vector<double> numbers(std::string_view text, std::string_view separators) {
  std::vector<double> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) out.push_back(std::stod(std::string(text.substr(at, end - at))));
    at = end + 1;
  }
  return out;
}

std::string_view attribute(std::string_view tag, std::string_view name) {
  const size_t at = tag.find(fmt::format(" {}=\"", name));
  if (at == tag.npos) return "";
  const size_t from = at + name.size() + 3;
  return tag.substr(from, tag.find('"', from) - from);
}

// The tag that begins with `head` at or after `from`.
std::string_view tag(std::string_view page, std::string_view head, size_t from = 0) {
  const size_t at = page.find(head, from);
  return at == page.npos ? std::string_view() : page.substr(at, page.find('>', at) - at);
}

// Values of a chart's path, by the axes that the chart tells.
std::vector<Point> read_back(std::string_view chart, std::string_view path) {
  const std::vector<double> x = numbers(attribute(chart, "data-x"), ","),
                            y = numbers(attribute(chart, "data-y"), ",");
  const std::vector<double> px = numbers(attribute(path, "d"), "ML ");
  auto value = [](const std::vector<double>& axis, double p) {
    const double t = (p - axis[3]) / (axis[4] - axis[3]);
    return axis[0] != 0 ? axis[1] * std::pow(axis[2] / axis[1], t) : axis[1] + t * (axis[2] - axis[1]);
  };
  std::vector<Point> out;
  for (size_t i = 0; i + 1 < px.size(); i += 2) out.push_back({value(x, px[i]), value(y, px[i + 1])});
  return out;
}

TEST(ReportSeries, TicksAreRound) {
  EXPECT_EQ(fmt::format("{:.10g}", fmt::join(round_ticks(0, 1, 5), " ")), "0 0.2 0.4 0.6 0.8 1");
  EXPECT_EQ(fmt::format("{:.10g}", fmt::join(round_ticks(1.13, 2.31, 4), " ")), "1.2 1.4 1.6 1.8 2 2.2");
  EXPECT_EQ(fmt::format("{:.10g}", fmt::join(round_ticks(-3, 52.4e6, 5), " ")),
            "0 10000000 20000000 30000000 40000000 50000000");
  EXPECT_LT(round_ticks(1e17, 1e17 + 64, 5).size(), 60u);  // where neighbors are 16 apart
  EXPECT_LT(log_ticks(1e-320, std::numeric_limits<double>::infinity()).size(), 700u);
  EXPECT_EQ(fmt::format("{:.10g}", fmt::join(log_ticks(0.3, 12), " ")), "0.5 1 2 5 10");
  EXPECT_EQ(fmt::format("{:.10g}", fmt::join(log_ticks(900, 3e6), " ")), "1000 10000 100000 1000000");
}

TEST(ReportSeries, NumbersAsAPersonWritesThem) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(999.6), "1 k");
  EXPECT_EQ(count_text(12345), "12.3 k");
  EXPECT_EQ(count_text(52.4e6, 6), "52.4 M");
  EXPECT_EQ(count_text(15e12), "15 T");
  EXPECT_EQ(plain_text(0.81084, 4), "0.8108");
  EXPECT_EQ(plain_text(12.345, 4), "12.35");
  EXPECT_EQ(plain_text(2.5e-5, 4), "2.5e-5");
  EXPECT_EQ(plain_text(std::nan("")), "—");
  EXPECT_EQ(duration_text(0.0123), "12.3 ms");
  EXPECT_EQ(duration_text(59.96), "1 min 0 s");
  EXPECT_EQ(duration_text(2292), "38 min 12 s");
  EXPECT_EQ(duration_text(90061), "1 d 1 h");
}

TEST(ReportSeries, SmoothingForgetsASpikeAndKeepsAJump) {
  std::vector<Point> p;
  for (int i = 0; i < 400; ++i) p.push_back({static_cast<double>(i), i < 200 ? 3.0 : 1.0});
  p[100].y = 50, p[101].y = 60, p[150].y = std::nan("");
  const std::vector<Point> s = smoothed(p, 20, std::vector<size_t>{0, 200});
  for (int i = 0; i < 400; ++i) EXPECT_EQ(s[static_cast<size_t>(i)].y, i < 200 ? 3.0 : 1.0) << i;
  // A straight line stays one, wherever the window is whole.
  for (int i = 0; i < 400; ++i) p[static_cast<size_t>(i)].y = 2.0 * i;
  const std::vector<Point> line = smoothed(p, 20, std::vector<size_t>{0});
  for (size_t i = 0; i < 370; ++i) EXPECT_NEAR(line[i].y, p[i].y, 1e-9) << i;
}

TEST(ReportSeries, ThinningLosesNoPeak) {
  std::vector<Point> p;
  for (int i = 0; i < 10000; ++i) p.push_back({i * 0.01, std::sin(i * 0.37)});
  p[5003].y = 9, p[7777].y = -9, p[6000].y = std::nan("");
  const std::vector<Point> t = thinned(p, 1.0);
  EXPECT_LT(t.size(), 420u);
  auto has = [&](double y) { return std::any_of(t.begin(), t.end(), [&](const Point& q) { return q.y == y; }); };
  EXPECT_TRUE(has(9) && has(-9));
  EXPECT_TRUE(std::any_of(t.begin(), t.end(), [](const Point& q) { return std::isnan(q.y); }));
  EXPECT_EQ(t.front().x, p.front().x);
  EXPECT_EQ(t.back().x, p.back().x);
  EXPECT_TRUE(std::is_sorted(t.begin(), t.end(), [](const Point& a, const Point& b) { return a.x < b.x; }));
}

TEST(Report, WhatIsDrawnIsWhatWasMeasured) {
  Folder d;
  write_run(d / "r");
  const std::string page = html(one(d / "r"));
  for (const char* id : {"loss-a", "loss-b"}) {  // over linear and over logarithmic tokens
    const size_t at = page.rfind("<svg class=\"chart\"", page.find(fmt::format("id=\"{}-clip\"", id)));
    const std::vector<Point> p =
        read_back(tag(page, "<svg class=\"chart\"", at), tag(page, "<path class=\"raw\"", at));
    ASSERT_GT(p.size(), 60u);
    for (const Point& q : p) EXPECT_NEAR(q.y, 4 - 0.01 * q.x / 1000, 0.02) << id << " " << q.x;
    EXPECT_NEAR(p.front().x, 1000, 150);
    EXPECT_NEAR(p.back().x, 200000, 200);
  }
  EXPECT_EQ(count(page, "<g class=\"dots\" data-name=\"prose\">"), 2u);
  EXPECT_NE(page.find("<title>sft</title>"), std::string::npos);
  EXPECT_NE(page.find("title=\"backward 75.0 %\""), std::string::npos);
}

TEST(Report, ThePageIsWholeAndNeedsNothingElse) {
  Folder d;
  write_run(d / "r"), write_run(d / "s", 90);
  const std::vector<std::string> folders{d / "r", d / "s"};
  for (const std::string& page : {html(one(d / "r")), html(read_runs(folders), {.log_x = true})}) {
    std::vector<std::string> open;  // tags in order, all closed
    for (size_t at = page.find('<'); at != page.npos; at = page.find('<', at + 1)) {
      if (page.compare(at, 8, "<script>") == 0) at = page.find("</script>", at);
      if (page.compare(at, 7, "<style>") == 0) at = page.find("</style>", at);
      const size_t end = page.find('>', at);
      const std::string whole = page.substr(at + 1, end - at - 1),
                        name = whole.substr(0, whole.find_first_of(" /", 1));
      if (whole[0] == '!' || whole.back() == '/' || name == "meta" || name == "input" || name == "/script" ||
          name == "/style")
        continue;
      if (whole[0] != '/') {
        open.push_back(name);
        continue;
      }
      ASSERT_FALSE(open.empty());
      ASSERT_EQ("/" + open.back(), whole) << page.substr(at > 200 ? at - 200 : 0, 260);
      open.pop_back();
    }
    EXPECT_TRUE(open.empty());
    for (const char* foreign : {"http:", "https:", "src=", "<link", "@import", "url(//"})
      EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
    EXPECT_EQ(count(page, "<script>"), 1u);
    EXPECT_NE(page.find("a &lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;so&quot;"), std::string::npos);
    EXPECT_NE(page.find("n&lt;b&gt;"), std::string::npos);
    EXPECT_NE(page.find("8\u202f650\u202f752"), std::string::npos);
    EXPECT_EQ(page.find("nan"), std::string::npos);
    EXPECT_EQ(page, html(page.find("training runs") != page.npos ? read_runs(folders) : one(d / "r"),
                         {.log_x = page.find("training runs") != page.npos}));
  }
}

TEST(Report, SummarySaysWhatTheFileSays) {
  Folder d;
  write_run(d / "r");
  write_file(d / "r/metrics.discarded.jsonl", "x\ny\n");
  const Summary s = summarize(one(d / "r")[0]);
  EXPECT_EQ(s.run, "r");
  EXPECT_EQ(s.steps, 200);
  EXPECT_EQ(s.tokens, 200000);
  EXPECT_NEAR(s.loss, 2.0, 0.03);
  EXPECT_NEAR(s.bpb.value(), 1.0, 0.015);
  EXPECT_EQ(s.time_s, 400);
  EXPECT_EQ(s.mfu, 0.5);
  EXPECT_EQ(s.discarded, 2);
  ASSERT_EQ(s.best.size(), 1u);
  EXPECT_NEAR(s.best[0].loss, 2.1, 1e-9);
  EXPECT_EQ(s.best[0].step, 200);
  EXPECT_EQ(to_json(s).at("best").as_array()[0].at("set").as_string(), "prose");
}

TEST(Report, RunsOfOneNameAreToldApart) {
  Folder d;
  write_run(d / "a/run", 5), write_run(d / "b/run", 5);
  const auto runs = read_runs(std::vector<std::string>{d / "a/run", d / "b/run/"});
  EXPECT_EQ(runs[0].name, "a/run");
  EXPECT_EQ(runs[1].name, "b/run");
  EXPECT_NE(message_of([&] {
              read_runs(std::vector<std::string>{d / "a/run", d / "a/../a/run/"});
            }).find("listed twice"),
            std::string::npos);
  write_file(d / "b/run/recipe.json", R"({"name": "n<b>", "model": {"family": "llama"}})");
  const auto differ = read_runs(std::vector<std::string>{d / "a/run", d / "b/run"});
  const std::string table = differences_html(differ);
  EXPECT_NE(table.find("<th>model.family</th><td>zaya</td><td>llama</td>"), std::string::npos) << table;
  EXPECT_NE(table.find("<th>data[1].level</th><td>3</td><td>absent</td>"), std::string::npos) << table;
  EXPECT_EQ(table.find("<th>name</th>"), std::string::npos);
}

TEST(Report, OddRunsAreDrawn) {
  Folder d;
  fs::create_directories(d / "r");
  auto page = [&](const std::string& lines) {
    write_file(d / "r/metrics.jsonl", lines);
    return html(one(d / "r"));
  };
  // One step; nothing finite; steps without tokens; a constant; zero everywhere.
  for (const char* lines :
       {"{\"step\":1,\"loss\":2.5,\"tokens\":100}\n", "{\"step\":1,\"loss\":null,\"tokens\":100}\n",
        "{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":2}\n{\"step\":5,\"tok",
        "{\"step\":1,\"loss\":2,\"tokens\":9}\n{\"step\":2,\"loss\":2,\"tokens\":18}\n",
        "{\"step\":0,\"loss\":0,\"tokens\":0,\"lr\":0,\"grad_norm\":0,\"mfu\":0,\"tokens_per_s\":0}\n"}) {
    const std::string p = page(lines);
    EXPECT_NE(p.find("<svg class=\"chart\""), std::string::npos);
    EXPECT_EQ(p.find("nan"), std::string::npos) << lines;
    EXPECT_EQ(p.find("inf,"), std::string::npos) << lines;
    EXPECT_NE(p.find("The folder holds no recipe.json."), std::string::npos);
  }
}

TEST(Report, WhatCannotBeDrawnIsNamed) {
  Folder d;
  auto message = [&](const std::string& folder) { return message_of([&] { read_run(folder); }); };
  EXPECT_NE(message(d / "none").find("expected the folder of a run"), std::string::npos);
  fs::create_directories(d / "r");
  EXPECT_NE(message(d / "r").find("holds no metrics.jsonl"), std::string::npos);
  write_file(d / "r/metrics.jsonl", "");
  EXPECT_NE(message(d / "r").find("metrics.jsonl holds no step yet"), std::string::npos);
  write_file(d / "r/metrics.jsonl", "{\"step\":1,\"loss\":2}\nnoise\n");
  EXPECT_NE(message(d / "r").find("metrics.jsonl:2"), std::string::npos);
  write_file(d / "r/metrics.jsonl", "{\"step\":1,\"loss\":2}\n");
  write_file(d / "r/recipe.json", "{");
  EXPECT_NE(message(d / "r").find("recipe.json: not valid JSON"), std::string::npos);
  write_file(d / "r/recipe.json", "[]");
  EXPECT_NE(message(d / "r").find("recipe.json: expected an object"), std::string::npos);
}

}  // namespace
}  // namespace quern::train::report

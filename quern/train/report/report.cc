// Reads runs, summarizes them, and writes the page: results, curves, where time went, events, recipe.
#include "quern/train/report/report.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/html/web_files.h"
#include "quern/train/report/report_chart.h"

namespace quern::train::report {
namespace {

namespace fs = std::filesystem;

struct StepPhase {
  const char* name;
  double StepMetrics::*seconds;
};
constexpr StepPhase kStepPhases[] = {{"forward", &StepMetrics::forward_s}, {"backward", &StepMetrics::backward_s},
                                     {"reduce", &StepMetrics::reduce_s},   {"optimizer", &StepMetrics::optimizer_s},
                                     {"data", &StepMetrics::data_s},       {"checkpoint", &StepMetrics::checkpoint_s},
                                     {"other", &StepMetrics::other_s}};
constexpr int kColors = 8;
constexpr double kWide = 1092;

// Where phases begin, by index of the step.
std::vector<size_t> phase_begins(const Run& r) {
  std::vector<size_t> at;
  const std::vector<StepMetrics>& steps = r.metrics.steps;
  for (size_t i = 0; i < steps.size(); ++i)
    if (i == 0 || steps[i].phase != steps[i - 1].phase) at.push_back(i);
  return at;
}

double or_nan(const std::optional<double>& v) { return v.value_or(std::nan("")); }

bool counts_tokens(std::span<const Run> runs) {
  return std::any_of(runs.begin(), runs.end(), [](const Run& r) { return r.metrics.steps.back().tokens > 0; });
}

// What all charts of a page share.
struct Page {
  std::span<const Run> runs;
  bool tokens;  // x is tokens, else steps
  double x(int64_t step, int64_t seen) const { return static_cast<double>(tokens ? seen : step); }

  template <class F>
  std::vector<Point> points(const Run& r, F&& value) const {
    std::vector<Point> p;
    p.reserve(r.metrics.steps.size());
    for (const StepMetrics& m : r.metrics.steps) p.push_back({x(m.step, m.tokens), value(m)});
    return p;
  }

  Chart frame(std::string id) const {
    Chart c;
    c.id = std::move(id), c.x_name = tokens ? "tokens" : "steps";
    const Run& r = runs[0];
    for (const StepMetrics& m : r.metrics.steps) {
      const double at = x(m.step, m.tokens);
      if (c.bands.empty() || c.bands.back().name != m.phase)
        c.bands.push_back({m.phase, c.bands.empty() ? 0 : c.bands.back().to, at});
      c.bands.back().to = at;
    }
    if (c.bands.size() == 1) c.bands.clear();  // one phase needs no shading
    for (const EventMetrics& e : r.metrics.events)
      if (e.event != "phase") c.marks.push_back({x(e.step, e.tokens), e.event, e.text});
    return c;
  }

  template <class F>
  bool add_lines(Chart& c, bool smooth, F&& value) const {
    bool any = false;
    for (size_t i = 0; i < runs.size(); ++i) {
      Line l{runs[i].name, static_cast<int>(i) % kColors, points(runs[i], value), {}};
      if (std::none_of(l.raw.begin(), l.raw.end(), [](const Point& p) { return std::isfinite(p.y); })) continue;
      if (const size_t half = smoothing_half(l.raw.size()); smooth && half > 0)
        l.smooth = smoothed(l.raw, half, phase_begins(runs[i]));
      c.lines.push_back(std::move(l));
      any = true;
    }
    return any;
  }

  std::vector<std::string> sets() const {
    std::vector<std::string> names;
    for (const Run& r : runs)
      for (const EvalMetrics& e : r.metrics.evals)
        if (std::find(names.begin(), names.end(), e.set) == names.end()) names.push_back(e.set);
    return names;
  }

  template <class F>
  void add_dots(Chart& c, F&& value) const {
    const std::vector<std::string> names = sets();
    for (size_t i = 0; i < runs.size(); ++i)
      for (size_t k = 0; k < names.size(); ++k) {
        Dots d{runs.size() > 1 ? runs[i].name + ", " + names[k] : names[k],
               static_cast<int>(i) % kColors,
               static_cast<int>(k),
               {}};
        for (const EvalMetrics& e : runs[i].metrics.evals)
          if (e.set == names[k] && std::isfinite(value(e))) d.points.push_back({x(e.step, e.tokens), value(e)});
        if (!d.points.empty()) c.dots.push_back(std::move(d));
      }
  }
};

std::string figure(const std::string& title, const std::string& unit, const std::string& body,
                   const std::string& extra_class = "") {
  return part("figure", {{"class", extra_class}, {"title", title}, {"unit", unit}, {"body", body}});
}

// The same chart twice, over linear and over logarithmic x, and the switch between them; no script takes part.
std::string switched(Chart c, bool log_first) {
  const std::string id = c.id;
  c.skip_start = c.lines.empty() ? 0 : 0.04;
  c.id = id + "-a";
  const std::string linear = svg(c);
  c.id = id + "-b", c.log_x = true, c.skip_start = 0;
  return part("switched", {{"id", id},
                           {"checked", log_first ? " checked" : ""},
                           {"x", c.x_name},
                           {"linear", linear},
                           {"logarithmic", svg(c)}});
}

std::string loss_figure(const Page& page, const Options& o) {
  Chart c = page.frame("loss");
  c.width = kWide, c.height = 372;
  page.add_lines(c, true, [](const StepMetrics& m) { return m.loss; });
  page.add_dots(c, [](const EvalMetrics& e) { return e.eval_loss; });
  return figure("Loss", "nats per token", switched(c, o.log_x), "wide");
}

std::string time_figure(const Page& page, bool wide) {
  const std::vector<StepMetrics>& steps = page.runs[0].metrics.steps;
  const size_t bins = std::min<size_t>(steps.size(), 120);
  Chart c = page.frame("time");
  if (wide) c.width = kWide;
  double longest = 0;
  for (size_t k = 0; k < std::size(kStepPhases); ++k) {
    Layer l{kStepPhases[k].name, static_cast<int>(k), {}};
    double whole = 0;
    for (size_t b = 0; b < bins; ++b) {
      const size_t from = b * steps.size() / bins, to = (b + 1) * steps.size() / bins;
      double sum = 0;
      for (size_t i = from; i < to; ++i) sum += steps[i].*kStepPhases[k].seconds;
      const StepMetrics& middle = steps[(from + to - 1) / 2];
      l.points.push_back({page.x(middle.step, middle.tokens), sum / static_cast<double>(to - from)});
      longest = std::max(longest, l.points.back().y), whole += sum;
    }
    if (whole > 0) c.layers.push_back(std::move(l));
  }
  if (c.layers.empty()) return "";
  if (longest < 1)
    for (Layer& l : c.layers)
      for (Point& p : l.points) p.y *= 1000;
  return figure("Where a step's time goes", longest < 1 ? "milliseconds" : "seconds", svg(c), wide ? "wide" : "");
}

// A bar a run: shares of the whole run's time.
std::string share_figure(const Page& page) {
  std::string bars;
  for (const Run& r : page.runs) {
    double whole = 0, seconds[std::size(kStepPhases)] = {};
    for (const StepMetrics& m : r.metrics.steps)
      for (size_t k = 0; k < std::size(kStepPhases); ++k)
        seconds[k] += m.*kStepPhases[k].seconds, whole += m.*kStepPhases[k].seconds;
    if (!(whole > 0)) continue;
    std::string parts;
    for (size_t k = 0; k < std::size(kStepPhases); ++k) {
      const double share = 100 * seconds[k] / whole;
      if (share <= 0) continue;
      parts += part("share-part", {{"width", fmt::format("{:.2f}", share)},
                                   {"color", k},
                                   {"name", kStepPhases[k].name},
                                   {"percent", fmt::format("{:.1f}", share)},
                                   {"text", share >= 7 ? fmt::format("{:.0f} %", share) : ""}});
    }
    bars += part("share", {{"run", r.name}, {"time", duration_text(whole)}, {"parts", parts}});
  }
  if (bars.empty()) return "";
  std::string key;
  for (size_t k = 0; k < std::size(kStepPhases); ++k)
    key += part("key-part", {{"color", k}, {"name", kStepPhases[k].name}});
  return figure("Where the time went", "share of the whole run", bars + part("key", {{"items", key}}), "wide");
}

// Of phases that learn from their own answers.
std::vector<std::string> reinforcement_figures(const Page& page) {
  struct Of {
    const char *id, *title, *note;
    std::optional<double> StepMetrics::*value;
    double factor = 1;
    const char* unit = "";
  };
  constexpr Of kFigures[] = {
      {"margin", "Reward margin", "of the chosen answers over the rejected ones", &StepMetrics::margin},
      {"accuracy", "Reward accuracy", "share of pairs whose chosen answer has the larger reward",
       &StepMetrics::accuracy},
      {"reward", "Reward", "mean of the sampled answers", &StepMetrics::reward},
      {"difficulty", "Difficulty", "mean of the problems", &StepMetrics::difficulty},
      {"signal", "Groups with signal", "answers that do not all earn the same", &StepMetrics::signal, 100, " %"},
      {"answer_tokens", "Answer length", "tokens", &StepMetrics::answer_tokens},
      {"entropy", "Entropy", "mean negative log-probability of the sampled tokens, nats", &StepMetrics::entropy},
      {"masked", "Masked tokens", "by the policy loss", &StepMetrics::masked, 100, " %"},
  };
  std::vector<std::string> s;
  for (const Of& f : kFigures) {
    Chart c = page.frame(f.id);
    c.from_zero = true, c.unit = f.unit;
    if (page.add_lines(c, true, [&](const StepMetrics& m) { return f.factor * or_nan(m.*f.value); }))
      s.push_back(figure(f.title, f.note, svg(c)));
  }
  return s;
}

std::vector<std::string> small_figures(const Page& page, const Options& o) {
  std::vector<std::string> s = reinforcement_figures(page);
  Chart bits = page.frame("bpb");
  const bool known = page.add_lines(bits, true, [](const StepMetrics& m) { return or_nan(m.bpb); });
  page.add_dots(bits, [](const EvalMetrics& e) { return or_nan(e.eval_bpb); });
  if (known || !bits.dots.empty())
    s.push_back(figure("Compression", "bits per byte of text", switched(bits, o.log_x)));
  Chart lr = page.frame("lr");
  lr.from_zero = true;
  if (page.add_lines(lr, false, [](const StepMetrics& m) { return m.lr; }))
    s.push_back(figure("Learning rate", "", svg(lr)));
  Chart norm = page.frame("norm");
  norm.log_y = true;
  if (page.add_lines(norm, true, [](const StepMetrics& m) { return m.grad_norm > 0 ? m.grad_norm : std::nan(""); }))
    s.push_back(figure("Gradient norm", "before clipping, logarithmic", svg(norm)));
  Chart speed = page.frame("speed");
  speed.from_zero = true, speed.counts = true;
  if (page.add_lines(speed, true, [](const StepMetrics& m) { return or_nan(m.tokens_per_s); }))
    s.push_back(figure("Speed", "tokens per second", svg(speed)));
  Chart mfu = page.frame("mfu");
  mfu.from_zero = true, mfu.unit = " %";
  if (page.add_lines(mfu, true, [](const StepMetrics& m) { return 100 * or_nan(m.mfu); }))
    s.push_back(figure("Model FLOPs utilization (MFU)", "of peak matrix multiplication throughput", svg(mfu)));
  return s;
}

std::string figures(const Page& page, const Options& o) {
  const std::vector<std::string> small = small_figures(page, o);
  const bool odd = small.size() % 2 == 1;  // the figure of time fills what is left of the row, or a row of its own
  std::string all = loss_figure(page, o);
  for (const std::string& f : small) all += f;
  return part("grid", {{"figures", all + time_figure(page, !odd) + share_figure(page)}});
}

std::string tile(const std::string& name, const std::string& value, const std::string& note) {
  return part("tile", {{"name", name}, {"value", value}, {"note", note}});
}

std::string tiles(const Summary& m) {
  std::string s = tile("Loss", plain_text(m.loss, 4), "nats per token, last steps");
  if (m.bpb) s += tile("Bits per byte", plain_text(*m.bpb, 4), "last steps");
  for (const BestEval& b : m.best)
    s += tile("Best evaluation", plain_text(b.loss, 4),
              fmt::format("{}, at {} tokens", b.set, count_text(static_cast<double>(b.tokens))));
  s += tile("Tokens", count_text(static_cast<double>(m.tokens)), fmt::format("in {} steps", m.steps));
  s += tile("Time", duration_text(m.time_s),
            m.tokens_per_s ? fmt::format("{} tokens per second", count_text(*m.tokens_per_s)) : "");
  if (m.mfu) s += tile("MFU", fmt::format("{:.1f} %", 100 * *m.mfu), "of peak throughput, median");
  return part("tiles", {{"tiles", s}});
}

std::string comparison(std::span<const Summary> all, const std::vector<std::string>& sets) {
  std::string headings, rows;
  for (const std::string& set : sets) headings += part("comparison-set", {{"set", set}});
  for (size_t i = 0; i < all.size(); ++i) {
    const Summary& m = all[i];
    std::string cells;
    const auto cell = [&](const std::string& value) { cells += part("cell", {{"value", value}}); };
    cell(plain_text(m.loss, 4)), cell(plain_text(or_nan(m.bpb), 4));
    for (const std::string& set : sets) {
      const auto b = std::find_if(m.best.begin(), m.best.end(), [&](const BestEval& e) { return e.set == set; });
      cell(b == m.best.end() ? "—" : plain_text(b->loss, 4));
    }
    cell(count_text(static_cast<double>(m.tokens))), cell(fmt::format("{}", m.steps));
    cell(duration_text(m.time_s)), cell(count_text(or_nan(m.tokens_per_s)));
    cell(m.mfu ? fmt::format("{:.1f} %", 100 * *m.mfu) : "—");
    rows += part("comparison-row", {{"color", i % kColors}, {"run", m.run}, {"cells", cells}});
  }
  return part("comparison", {{"sets", headings}, {"rows", rows}});
}

std::string legend(const Page& page) {
  std::string items;
  if (page.runs.size() > 1)
    for (size_t i = 0; i < page.runs.size(); ++i)
      items += part("key-run", {{"color", i % kColors}, {"name", page.runs[i].name}});
  if (const size_t half = smoothing_half(page.runs[0].metrics.steps.size()); half > 0)
    items += part("key-smoothing", {{"half", half}, {"plural", half == 1 ? "" : "s"}});
  const std::vector<std::string> sets = page.sets();
  for (size_t k = 0; k < sets.size(); ++k)
    items += part("key-set", {{"shape", dot_shape(static_cast<int>(k), 0, 0, 0)}, {"set", sets[k]}});
  std::vector<std::string> kinds;
  for (const EventMetrics& e : page.runs[0].metrics.events)
    if (e.event != "phase" && std::find(kinds.begin(), kinds.end(), e.event) == kinds.end()) kinds.push_back(e.event);
  for (const std::string& k : kinds) items += part("key-event", {{"color", kind_color(k)}, {"kind", k}});
  if (page.runs.size() > 1) items += part("key-first", {{"run", page.runs[0].name}});
  return part("key", {{"items", items}});
}

std::string events_html(std::span<const Run> runs) {
  std::string rows, notes;
  for (const Run& r : runs) {
    for (const EventMetrics& e : r.metrics.events)
      rows += part("event", {{"step", e.step},
                             {"tokens", count_text(static_cast<double>(e.tokens), 4)},
                             {"color", kind_color(e.event)},
                             {"event", e.event},
                             {"run", runs.size() > 1 ? r.name + ": " : ""},
                             {"text", e.text}});
    if (r.discarded > 0) notes += part("discarded", {{"run", r.name}, {"lines", r.discarded}});
  }
  if (rows.empty() && notes.empty()) return "";
  return part("events", {{"table", rows.empty() ? "" : part("events-table", {{"rows", rows}})}, {"notes", notes}});
}

std::string recipes_html(std::span<const Run> runs) {
  std::string s;
  if (const std::string d = runs.size() > 1 ? differences_html(runs) : ""; !d.empty())
    s += part("differences", {{"table", d}});
  for (const Run& r : runs) {
    const std::string facts = r.recipe.is_null() ? part("no-recipe") : facts_html(r.recipe);
    s +=
        runs.size() > 1 ? part("recipe-of", {{"run", r.name}, {"facts", facts}}) : part("recipe", {{"facts", facts}});
  }
  return s;
}

}  // namespace

Run read_run(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail("{}: expected the folder of a run, as quern train writes it", folder.string());
  const fs::path file = folder / "metrics.jsonl", recipe = folder / "recipe.json",
                 gone = folder / "metrics.discarded.jsonl";
  if (!fs::exists(file)) fail("{} holds no metrics.jsonl: expected the folder of a run", folder.string());
  Run r;
  r.folder = fs::weakly_canonical(folder);
  r.name = r.folder.filename().string();
  r.metrics = read_metrics(file);
  if (r.metrics.steps.empty()) fail("{} holds no step yet", file.string());
  if (fs::exists(recipe)) {
    r.recipe = Json::read(recipe);
    r.recipe.as_object(recipe.string());
  }
  if (fs::exists(gone)) {
    const std::string text = read_file(gone);
    r.discarded = std::count(text.begin(), text.end(), '\n');
  }
  return r;
}

std::vector<Run> read_runs(std::span<const std::string> folders) {
  std::vector<Run> runs;
  for (const std::string& f : folders) {
    runs.push_back(read_run(f));
    for (size_t i = 0; i + 1 < runs.size(); ++i)
      if (runs[i].folder == runs.back().folder) fail("{} is listed twice", f);
  }
  auto twice = [&](const Run& r) {
    return std::count_if(runs.begin(), runs.end(), [&](const Run& o) { return o.name == r.name; }) > 1;
  };
  std::vector<fs::path> above(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) above[i] = runs[i].folder.parent_path();
  while (std::any_of(runs.begin(), runs.end(), twice)) {
    std::vector<bool> grow;
    for (const Run& r : runs) grow.push_back(twice(r));
    for (size_t i = 0; i < runs.size(); ++i)
      if (grow[i]) runs[i].name = (above[i].filename() / runs[i].name).string(), above[i] = above[i].parent_path();
  }
  return runs;
}

Summary summarize(const Run& run) {
  const std::vector<StepMetrics>& steps = run.metrics.steps;
  auto last = [&](auto value) {
    std::vector<Point> p;
    for (const StepMetrics& m : steps) p.push_back({0, value(m)});
    return smoothed(p, smoothing_half(p.size()), phase_begins(run)).back().y;
  };
  auto median = [&](auto value) {
    std::vector<double> v;
    for (const StepMetrics& m : steps) v.push_back(or_nan(value(m)));
    return quantile(v, 0.5);
  };
  auto known = [](double v) { return std::isfinite(v) ? std::optional(v) : std::nullopt; };
  Summary s;
  s.run = run.name, s.discarded = run.discarded;
  s.steps = steps.back().step, s.tokens = steps.back().tokens;
  s.events = static_cast<int64_t>(run.metrics.events.size());
  s.loss = last([](const StepMetrics& m) { return m.loss; });
  s.bpb = known(last([](const StepMetrics& m) { return or_nan(m.bpb); }));
  for (const StepMetrics& m : steps) s.time_s += m.time_s;
  s.tokens_per_s = known(median([](const StepMetrics& m) { return m.tokens_per_s; }));
  s.mfu = known(median([](const StepMetrics& m) { return m.mfu; }));
  for (const EvalMetrics& e : run.metrics.evals) {
    if (!std::isfinite(e.eval_loss)) continue;
    const auto at = std::find_if(s.best.begin(), s.best.end(), [&](const BestEval& b) { return b.set == e.set; });
    const BestEval b{e.set, e.eval_loss, e.eval_bpb, e.step, e.tokens};
    if (at == s.best.end()) {
      s.best.push_back(b);
    } else if (b.loss < at->loss) {
      *at = b;
    }
  }
  return s;
}

Json to_json(const Summary& s) {
  Json j = Json::object(), best = Json::array();
  for (const BestEval& b : s.best) {
    Json e = Json::object();
    e.set("set", b.set), e.set("eval_loss", b.loss), e.set("step", b.step), e.set("tokens", b.tokens);
    if (b.bpb) e.set("eval_bpb", *b.bpb);
    best.push(std::move(e));
  }
  j.set("run", s.run), j.set("steps", s.steps), j.set("tokens", s.tokens), j.set("loss", s.loss);
  if (s.bpb) j.set("bpb", *s.bpb);
  j.set("best", std::move(best)), j.set("time_s", s.time_s);
  if (s.tokens_per_s) j.set("tokens_per_s", *s.tokens_per_s);
  if (s.mfu) j.set("mfu", *s.mfu);
  j.set("events", s.events), j.set("discarded", s.discarded);
  return j;
}

std::string html(std::span<const Run> runs, const Options& options) {
  QUERN_CHECK(!runs.empty());
  const Page page{runs, counts_tokens(runs)};
  std::vector<Summary> all;
  std::string names;
  for (const Run& r : runs) all.push_back(summarize(r)), names += (names.empty() ? "" : " · ") + r.name;
  return part("page", {{"names", names},
                       {"style", html::web_file("report.css")},
                       {"plural", runs.size() > 1 ? "s" : ""},
                       {"summary", runs.size() > 1 ? comparison(all, page.sets()) : tiles(all[0])},
                       {"legend", legend(page)},
                       {"figures", figures(page, options)},
                       {"events", events_html(runs)},
                       {"recipes", recipes_html(runs)},
                       {"script", html::web_file("report.js")}}) +
         "\n";
}

}  // namespace quern::train::report

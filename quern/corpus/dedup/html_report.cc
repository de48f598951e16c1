#include "quern/corpus/dedup/html_report.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "quern/html/html_template.h"
#include "quern/html/web_files.h"

namespace quern::corpus {
namespace {

const html::HtmlTemplate& page() {
  static const html::HtmlTemplate t(html::web_file("corpus_report.html"));
  return t;
}

std::string grouped(int64_t n) {  // 1234567 → 1 234 567
  std::string s = std::to_string(n), out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (i > 0 && (s.size() - i) % 3 == 0 && s[i - 1] != '-') out += "\xE2\x80\xAF";
    out += s[i];
  }
  return out;
}

std::string bytes_text(int64_t n) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto v = static_cast<double>(n);
  size_t u = 0;
  while (v >= 1000 && u + 1 < std::size(units)) v /= 1000, ++u;
  return u == 0 ? fmt::format("{} B", n) : fmt::format("{:.{}f} {}", v, v < 10 ? 2 : v < 100 ? 1 : 0, units[u]);
}

std::string share_text(int64_t part, int64_t whole) {
  return whole == 0 ? "" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string tile(const std::string& value, std::string_view what) {
  return page().fill("tile", {{"value", value}, {"what", what}});
}

int64_t count(const Json& j, const char* key) { return j.at(key).as_int(key); }

constexpr struct {
  const char *key, *name;
} kEnds[] = {{"kept", "kept"},
             {"near_removed", "near duplicates"},
             {"exact_removed", "exact duplicates"},
             {"filtered", "rejected by rules"},
             {"unlabelled", "rejected by label"}};

std::string funnel(const Json& m) {
  std::string keys, bars, rows;
  for (size_t k = 0; k < std::size(kEnds); ++k) keys += page().fill("key", {{"k", k}, {"name", kEnds[k].name}});
  for (const Json& f : m.at("sources").as_array()) {
    const int64_t all = count(f, "documents");
    const std::string &source = f.at("source").as_string(), share = share_text(count(f, "kept"), all);
    std::string parts;
    for (size_t k = 0; k < std::size(kEnds) && all > 0; ++k)
      if (const int64_t n = count(f, kEnds[k].key); n > 0)
        parts += page().fill(
            "part", {{"k", k},
                     {"percent", fmt::format("{:.3f}", 100.0 * static_cast<double>(n) / static_cast<double>(all))},
                     {"n", grouped(n)},
                     {"name", kEnds[k].name}});
    bars += page().fill("bar", {{"source", source}, {"parts", parts}, {"share", share}});
    rows += page().fill("funnel-row", {{"source", source},
                                       {"documents", grouped(all)},
                                       {"text", bytes_text(count(f, "text_bytes"))},
                                       {"filtered", grouped(count(f, "filtered"))},
                                       {"unlabeled", grouped(count(f, "unlabelled"))},
                                       {"exact", grouped(count(f, "exact_removed"))},
                                       {"near", grouped(count(f, "near_removed"))},
                                       {"kept", grouped(count(f, "kept"))},
                                       {"share", share}});
  }
  return page().fill("funnel", {{"keys", keys}, {"bars", bars}, {"rows", rows}});
}

std::string source_headings(const Json::Array& sources) {
  std::string s;
  for (const Json& f : sources) s += page().fill("heading", {{"name", f.at("source").as_string()}});
  return s;
}

std::string rules(const Json& m) {
  const Json* list = m.find("rules");
  if (!list) return "";
  const Json::Array& sources = m.at("sources").as_array();
  std::string rows;
  for (const Json& r : list->as_array()) {
    if (count(r, "any") == 0) continue;
    const std::string& name = r.at("rule").as_string();
    std::string by_source;
    for (const Json& f : sources) {
      const Json* n = f.at("rules_first").find(name);
      by_source += page().fill("cell", {{"value", n ? grouped(n->as_int()) : ""}});
    }
    rows += page().fill("rule", {{"rule", name},
                                 {"first", grouped(count(r, "first"))},
                                 {"any", grouped(count(r, "any"))},
                                 {"by_source", by_source}});
  }
  return page().fill("rules", {{"sources", source_headings(sources)}, {"rows", rows}});
}

std::string overlap(const Json& m) {
  const Json::Array& sources = m.at("sources").as_array();
  const Json::Array& counts = m.at("overlap").as_array();
  int64_t maximum = 0;
  for (const Json& row : counts)
    for (const Json& n : row.as_array()) maximum = std::max(maximum, n.as_int());
  if (maximum == 0) return "";
  std::string rows;
  for (size_t i = 0; i < counts.size(); ++i) {
    std::string cells;
    for (const Json& n : counts[i].as_array()) {
      const double heat = n.as_int() == 0 ? 0
                                          : 0.12 + 0.6 * std::log1p(static_cast<double>(n.as_int())) /
                                                       std::log1p(static_cast<double>(maximum));
      cells += page().fill("overlap-cell", {{"heat", fmt::format("{:.2f}", heat)}, {"n", grouped(n.as_int())}});
    }
    rows += page().fill("overlap-row", {{"source", sources[i].at("source").as_string()}, {"cells", cells}});
  }
  return page().fill("overlap", {{"sources", source_headings(sources)}, {"rows", rows}});
}

struct Column {
  std::string name;
  int64_t n;
  const char* style;
};

// Heights are log(1 + n), so that a single cluster is still seen.
std::string columns(const std::vector<Column>& all) {
  double top = 1, wide = 46;
  const auto height = [](int64_t n) { return std::log1p(static_cast<double>(n)); };
  for (const Column& c : all)
    top = std::max(top, height(c.n)), wide = std::max(wide, 6.5 * static_cast<double>(c.name.size()));
  constexpr double kHigh = 150;
  const auto pixels = [](double v) { return fmt::format("{:.1f}", v); };
  std::string drawn;
  for (size_t i = 0; i < all.size(); ++i) {
    const double h = kHigh * height(all[i].n) / top, x = 5 + wide * static_cast<double>(i);
    const std::string middle = pixels(x + wide / 2 - 3), n = grouped(all[i].n);
    drawn += page().fill("column", {{"style", all[i].style},
                                    {"x", pixels(x)},
                                    {"y", pixels(18 + kHigh - h)},
                                    {"width", wide - 6},
                                    {"height", pixels(h)},
                                    {"name", all[i].name},
                                    {"n", n}});
    if (all[i].n > 0)
      drawn += page().fill("column-text", {{"x", middle}, {"y", pixels(14 + kHigh - h)}, {"text", n}});
    drawn += page().fill("column-text", {{"x", middle}, {"y", pixels(kHigh + 36)}, {"text", all[i].name}});
  }
  return page().fill("columns", {{"width", wide * static_cast<double>(all.size()) + 10},
                                 {"height", kHigh + 44},
                                 {"base", kHigh + 19},
                                 {"columns", drawn}});
}

std::string cluster_sizes(const Json& m) {
  const Json::Array& sizes = m.at("cluster_sizes").as_array();
  if (sizes.empty()) return "";
  std::vector<Column> all;
  for (const Json& s : sizes) {  // 2, 3–4, 5–8, 9–16 …
    const int64_t size = count(s, "size");
    size_t bin = 0;
    while (int64_t{2} << bin < size) ++bin;
    while (all.size() <= bin) {
      const int64_t low = all.empty() ? 2 : (int64_t{1} << all.size()) + 1, high = int64_t{2} << all.size();
      all.push_back({low == high ? std::to_string(low) : fmt::format("{}–{}", low, high), 0, "b"});
    }
    all[bin].n += count(s, "clusters");
  }
  return page().fill("cluster-sizes", {{"columns", columns(all)}});
}

std::string similarities(const Json& m) {
  const Json* p = m.find("pairs");
  if (!p) return "";
  const auto bins = [&](const char* key, const char* style) {
    std::vector<Column> all;
    const Json::Array& a = p->at(key).as_array();
    for (size_t i = 0; i < a.size(); ++i)
      all.push_back(
          {fmt::format("{:.2f}", static_cast<double>(i) / static_cast<double>(a.size())), a[i].as_int(), style});
    const bool none = std::ranges::all_of(all, [](const Column& c) { return c.n == 0; });
    return none ? page().fill("no-pairs", {}) : columns(all);
  };
  const auto about = [&](const char* key) { return grouped(std::llround(p->at(key).as_double())); };
  return page().fill("similarities", {{"looked_at", grouped(count(*p, "pairs_looked_at"))},
                                      {"met", grouped(count(*p, "pairs_met"))},
                                      {"threshold", m.at("config").at("threshold").as_double()},
                                      {"below", about("below_threshold_estimate")},
                                      {"missed", about("missed_estimate")},
                                      {"pairs", bins("similarity_bins", "b")},
                                      {"kept_pairs", bins("survivor_similarity_bins", "c")}});
}

std::string largest(const Json& m, std::span<const ClusterSample> samples) {
  if (samples.empty()) return "";
  const Json::Array& sources = m.at("sources").as_array();
  const auto text = [&](const SampleDocument& d, const std::string& role) {
    return page().fill("document", {{"role", role},
                                    {"source", sources.at(d.source).at("source").as_string()},
                                    {"id", d.id},
                                    {"bytes", bytes_text(static_cast<int64_t>(d.bytes))},
                                    {"text", d.text}});
  };
  std::string clusters;
  for (size_t i = 0; i < samples.size(); ++i) {
    const ClusterSample& c = samples[i];
    std::string texts = text(c.survivor, "kept");
    for (const SampleDocument& d : c.removed)
      texts += text(d, d.exact             ? "exact duplicate"
                       : d.similarity >= 0 ? fmt::format("near duplicate, similarity {:.2f}", d.similarity)
                                           : "near duplicate");
    clusters += page().fill(
        "cluster", {{"open", i == 0 ? " open" : ""}, {"n", grouped(static_cast<int64_t>(c.size))}, {"texts", texts}});
  }
  return page().fill("largest", {{"clusters", clusters}});
}

std::string stages(const Json& m) {
  std::string rows;
  for (const Json& st : m.at("stages").as_array())
    rows += page().fill("stage", {{"name", st.at("name").as_string()},
                                  {"documents_in", grouped(count(st, "documents_in"))},
                                  {"documents_out", grouped(count(st, "documents_out"))},
                                  {"bytes_in", bytes_text(count(st, "bytes_in"))},
                                  {"seconds", fmt::format("{:.2f}", st.at("seconds").as_double())},
                                  {"memory", bytes_text(count(st, "peak_rss"))}});
  return page().fill("stages", {{"rows", rows}});
}

std::string left_out(const Json& m) {
  const Json& read = m.at("read");
  std::string rows, first;
  for (const char* key : {"bad_json", "no_text", "bad_utf8", "too_long", "cut", "blank", "not_text"})
    if (const int64_t n = count(read, key); n > 0)
      rows += page().fill("left-out-row", {{"why", key}, {"rows", grouped(n)}});
  for (const Json& e : read.at("examples").as_array()) first += e.as_string() + "\n";
  for (const Json& d : m.at("damaged_files").as_array()) first += d.as_string() + "\n";
  return (rows.empty() ? "" : page().fill("left-out", {{"rows", rows}})) +
         (first.empty() ? "" : page().fill("examples", {{"lines", first}}));
}

constexpr std::string_view kLater = "id=\"later\"";

const Json* of_source(const Json* stage, const std::string& name) {
  if (!stage) return nullptr;
  for (const Json& s : stage->at("sources").as_array())
    if (s.at("source").as_string() == name) return &s;
  return nullptr;
}

std::string count_or_nothing(const Json* j, const char* key) { return j ? grouped(count(*j, key)) : ""; }

}  // namespace

std::string with_later_stages(std::string whole, const Json* mixed, const Json* tokens) {
  const size_t end = whole.rfind("</main>");
  if ((!mixed && !tokens) || end == whole.npos || whole.find(kLater) != whole.npos) return whole;
  std::vector<std::string> names;
  for (const Json* stage : {mixed, tokens})
    for (const Json& s : stage ? stage->at("sources").as_array() : Json::Array())
      if (const std::string& name = s.at("source").as_string(); std::ranges::find(names, name) == names.end())
        names.push_back(name);
  std::string rows;
  for (const std::string& name : names) {
    const Json *m = of_source(mixed, name), *t = of_source(tokens, name);
    rows += page().fill("later-row", {{"source", name},
                                      {"in", count_or_nothing(m, "documents_in")},
                                      {"epochs", m ? fmt::format("{:.3f}", m->at("epochs").as_double()) : ""},
                                      {"mixed", count_or_nothing(m, "documents_out")},
                                      {"text", m ? bytes_text(count(*m, "bytes_out")) : ""},
                                      {"documents", count_or_nothing(t, "documents")},
                                      {"tokens", count_or_nothing(t, "tokens")}});
  }
  rows += page().fill("later-row", {{"source", "all"},
                                    {"in", ""},
                                    {"epochs", ""},
                                    {"mixed", count_or_nothing(mixed, "documents_out")},
                                    {"text", mixed ? bytes_text(count(*mixed, "text_bytes")) : ""},
                                    {"documents", count_or_nothing(tokens, "documents")},
                                    {"tokens", count_or_nothing(tokens, "tokens")}});
  whole.insert(end, page().fill("later", {{"rows", rows}}));
  return whole;
}

std::string corpus_html_report(const Json& m, std::span<const ClusterSample> samples) {
  std::string tiles = tile(bytes_text(count(m.at("read"), "text_bytes")), "of text read") +
                      tile(grouped(count(m, "exact_removed")), "exact duplicates removed") +
                      tile(grouped(count(m, "near_removed")), "near duplicates removed") +
                      tile(grouped(count(m.at("clusters"), "count")), "clusters") +
                      tile(grouped(count(m.at("clusters"), "largest")), "documents in the largest cluster");
  if (const Json* w = m.find("removed_unlike_survivor"))
    tiles += tile(grouped(w->as_int()), "removed below the threshold (not similar to the kept document)");
  return page().fill("page", {{"tool", m.at("tool").at("name").as_string()},
                              {"version", m.at("tool").at("version").as_string()},
                              {"preset", m.at("config").at("preset").as_string()},
                              {"config", m.at("config_hash").as_string()},
                              {"style", html::web_file("corpus_report.css")},
                              {"kept", grouped(count(m, "kept"))},
                              {"documents", grouped(count(m.at("read"), "documents"))},
                              {"tiles", tiles},
                              {"sections", funnel(m) + rules(m) + overlap(m) + cluster_sizes(m) + similarities(m) +
                                               largest(m, samples) + stages(m) + left_out(m)}}) +
         "\n";
}

}  // namespace quern::corpus

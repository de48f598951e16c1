#include "quern/corpus/dedup/html_report.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--bg:#fbfaf7;--ink:#22252a;--soft:#6b7078;--line:#dcd9d2;--card:#fff;
--kept:#3d7a5c;--near:#c78a2c;--exact:#b0553f;--filtered:#5f6f9a;--label:#8d7fa8;--heat:61,122,92}
@media(prefers-color-scheme:dark){:root{--bg:#17191c;--ink:#e4e2dc;--soft:#9aa0a8;--line:#33373d;--card:#1e2125;
--kept:#6fb892;--near:#dfae5e;--exact:#d98670;--filtered:#94a5d6;--label:#b9a9d6;--heat:111,184,146}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 60px}h1{font-size:26px;margin:0 0 4px}
h2{font-size:17px;margin:38px 0 10px}p.note{color:var(--soft);margin:4px 0 12px;max-width:76ch}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin-top:18px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px}
.tile b{display:block;font-size:22px;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:13px}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:14px}
th,td{padding:4px 12px 4px 0;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:500}th:first-child,td:first-child{text-align:left}
.bar{display:flex;height:22px;border-radius:4px;overflow:hidden;background:var(--line)}.bar i{display:block}
.row{display:grid;grid-template-columns:minmax(90px,170px) 1fr 110px;gap:12px;align-items:center;margin:5px 0}
.row b{font-weight:500;overflow-wrap:anywhere}.row span{text-align:right;color:var(--soft);font-variant-numeric:tabular-nums}
.key{color:var(--soft);font-size:13px}.key i{display:inline-block;width:11px;height:11px;border-radius:3px;margin:0 5px 0 14px}
.k0{background:var(--kept)}.k1{background:var(--near)}.k2{background:var(--exact)}.k3{background:var(--filtered)}.k4{background:var(--label)}
td.heat{text-align:center;padding:4px 14px}svg text{fill:var(--soft);font-size:12px}svg .b{fill:var(--kept)}svg .c{fill:var(--near)}
svg line{stroke:var(--line)}details{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:8px 0;padding:8px 14px}
summary{cursor:pointer}.texts{display:grid;grid-template-columns:repeat(auto-fit,minmax(230px,1fr));gap:12px;margin-top:8px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:12px/1.45 ui-monospace,monospace;margin:6px 0;max-height:320px;overflow:auto}
.who{color:var(--soft);font-size:13px}
)";

std::string html_text(std::string_view s) {
  std::string out;
  for (char c : s) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t')
      out += "\xEF\xBF\xBD";
    else
      out += c;
  }
  return out;
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

std::string tile(const std::string& value, const std::string& what) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>", value, html_text(what));
}

int64_t count(const Json& j, const char* key) { return j.at(key).as_int(key); }

constexpr struct {
  const char *key, *name;
} kEnds[] = {{"kept", "kept"},
             {"near_removed", "near copies"},
             {"exact_removed", "exact copies"},
             {"filtered", "rejected by rules"},
             {"unlabelled", "kept out by label"}};

std::string funnel(const Json& m) {
  std::string s = "<h2>Where documents went</h2><p class=\"key\">";
  for (size_t k = 0; k < std::size(kEnds); ++k) s += fmt::format("<i class=\"k{}\"></i>{}", k, kEnds[k].name);
  s += "</p>";
  std::string table =
      "<div class=\"scroll\"><table><tr><th>source</th><th>documents</th><th>text</th><th>rules</th><th>label</th>"
      "<th>exact</th><th>near</th><th>kept</th><th>share kept</th></tr>";
  for (const Json& f : m.at("sources").as_array()) {
    const int64_t all = count(f, "documents");
    s += fmt::format("<div class=\"row\"><b>{}</b><div class=\"bar\">", html_text(f.at("source").as_string()));
    for (size_t k = 0; k < std::size(kEnds) && all > 0; ++k)
      if (const int64_t n = count(f, kEnds[k].key); n > 0)
        s += fmt::format("<i class=\"k{}\" style=\"width:{:.3f}%\" title=\"{} {}\"></i>", k,
                         100.0 * static_cast<double>(n) / static_cast<double>(all), grouped(n), kEnds[k].name);
    s += fmt::format("</div><span>{} kept</span></div>", share_text(count(f, "kept"), all));
    table += fmt::format("<tr><td>{}</td>", html_text(f.at("source").as_string()));
    table += fmt::format("<td>{}</td><td>{}</td>", grouped(all), bytes_text(count(f, "text_bytes")));
    for (const char* key : {"filtered", "unlabelled", "exact_removed", "near_removed", "kept"})
      table += fmt::format("<td>{}</td>", grouped(count(f, key)));
    table += fmt::format("<td>{}</td></tr>", share_text(count(f, "kept"), all));
  }
  return s + table + "</table></div>";
}

std::string rules(const Json& m) {
  const Json* list = m.find("rules");
  if (!list) return "";
  const Json::Array& sources = m.at("sources").as_array();
  std::string s =
      "<h2>Rules</h2><p class=\"note\">Documents each rule rejects: as the first that does, in all, and as the first "
      "by "
      "source.</p><div class=\"scroll\"><table><tr><th>rule</th><th>first</th><th>in all</th>";
  for (const Json& f : sources) s += fmt::format("<th>{}</th>", html_text(f.at("source").as_string()));
  s += "</tr>";
  for (const Json& r : list->as_array()) {
    if (count(r, "any") == 0) continue;
    const std::string& name = r.at("rule").as_string();
    s += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td>", html_text(name), grouped(count(r, "first")),
                     grouped(count(r, "any")));
    for (const Json& f : sources) {
      const Json* n = f.at("rules_first").find(name);
      s += fmt::format("<td>{}</td>", n ? grouped(n->as_int()) : "");
    }
    s += "</tr>";
  }
  return s + "</table></div>";
}

std::string overlap(const Json& m) {
  const Json::Array& sources = m.at("sources").as_array();
  const Json::Array& rows = m.at("overlap").as_array();
  int64_t maximum = 0;
  for (const Json& row : rows)
    for (const Json& n : row.as_array()) maximum = std::max(maximum, n.as_int());
  if (maximum == 0) return "";
  std::string s =
      "<h2>Overlap</h2><p class=\"note\">Documents of the column's source that were removed because one of the row's "
      "source stays.</p><div class=\"scroll\"><table><tr><th>stays in</th>";
  for (const Json& f : sources) s += fmt::format("<th>{}</th>", html_text(f.at("source").as_string()));
  s += "</tr>";
  for (size_t i = 0; i < rows.size(); ++i) {
    s += fmt::format("<tr><td>{}</td>", html_text(sources[i].at("source").as_string()));
    for (const Json& n : rows[i].as_array()) {
      const double heat = n.as_int() == 0 ? 0
                                          : 0.12 + 0.6 * std::log1p(static_cast<double>(n.as_int())) /
                                                       std::log1p(static_cast<double>(maximum));
      s += fmt::format("<td class=\"heat\" style=\"background:rgba(var(--heat),{:.2f})\">{}</td>", heat,
                       grouped(n.as_int()));
    }
    s += "</tr>";
  }
  return s + "</table></div>";
}

struct Column {
  std::string name;
  int64_t n;
  const char* style;
};

// Heights are log(1 + n), so that a single cluster is still seen.
std::string columns(const std::vector<Column>& all) {
  double top = 1;
  const auto height = [](int64_t n) { return std::log1p(static_cast<double>(n)); };
  for (const Column& c : all) top = std::max(top, height(c.n));
  constexpr double kHigh = 150, kWide = 46;
  const double width = kWide * static_cast<double>(all.size()) + 10;
  std::string s =
      fmt::format("<div class=\"scroll\"><svg width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">",
                  width, kHigh + 44);
  for (size_t i = 0; i < all.size(); ++i) {
    const double h = kHigh * height(all[i].n) / top, x = 5 + kWide * static_cast<double>(i);
    s += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" rx=\"2\"><title>{}: "
        "{}</title></rect>",
        all[i].style, x, 18 + kHigh - h, kWide - 6, h, html_text(all[i].name), grouped(all[i].n));
    if (all[i].n > 0)
      s += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x + kWide / 2 - 3,
                       14 + kHigh - h, grouped(all[i].n));
    s += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x + kWide / 2 - 3,
                     kHigh + 36, html_text(all[i].name));
  }
  return s + fmt::format("<line x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/></svg></div>", width, kHigh + 19, kHigh + 19);
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
      all.push_back({low == high ? std::to_string(low) : fmt::format("…{}", high), 0, "b"});
    }
    all[bin].n += count(s, "clusters");
  }
  return "<h2>Cluster sizes</h2><p class=\"note\">Clusters by how many documents they hold, the survivor included; "
         "heights are logarithmic.</p>" +
         columns(all);
}

std::string similarities(const Json& m) {
  const Json* p = m.find("pairs");
  if (!p) return "";
  std::string s = fmt::format(
      "<h2>How alike pairs are that met</h2><p class=\"note\">Exact similarity of {} of the {} pairs that met in a "
      "band, heights logarithmic. Below the threshold of {}: about {}, which verification keeps apart and which "
      "would be false positives "
      "without it. Pairs at or above it that met in no band: about {}, estimated from how likely each pair found was "
      "to "
      "meet.</p>",
      grouped(count(*p, "pairs_looked_at")), grouped(count(*p, "pairs_met")),
      m.at("config").at("threshold").as_double(),
      grouped(std::llround(p->at("below_threshold_estimate").as_double())),
      grouped(std::llround(p->at("missed_estimate").as_double())));
  const auto bins = [&](const char* key, const char* style) {
    std::vector<Column> all;
    const Json::Array& a = p->at(key).as_array();
    for (size_t i = 0; i < a.size(); ++i)
      all.push_back({fmt::format(".{:02}", i * 100 / a.size()), a[i].as_int(), style});
    return columns(all);
  };
  s += bins("similarity_bins", "b");
  return s +
         "<h2>How alike survivors are</h2><p class=\"note\">The same for pairs of which both stay: what is left of "
         "duplication.</p>" +
         bins("survivor_similarity_bins", "c");
}

std::string largest(const Json& m, std::span<const ClusterSample> samples) {
  if (samples.empty()) return "";
  std::string s =
      "<h2>The largest clusters</h2><p class=\"note\">The beginning of the survivor, and of some documents it stands "
      "for.</p>";
  const Json::Array& sources = m.at("sources").as_array();
  const auto text = [&](const SampleDocument& d, const std::string& role) {
    return fmt::format("<div><div class=\"who\">{}<br>{}, id {}, {}</div><pre>{}</pre></div>", role,
                       html_text(sources.at(d.source).at("source").as_string()), d.id,
                       bytes_text(static_cast<int64_t>(d.bytes)), html_text(d.text));
  };
  for (size_t i = 0; i < samples.size(); ++i) {
    const ClusterSample& c = samples[i];
    s += fmt::format("<details{}><summary>{} documents</summary><div class=\"texts\">", i == 0 ? " open" : "",
                     grouped(static_cast<int64_t>(c.size)));
    s += text(c.survivor, "stays");
    for (const SampleDocument& d : c.removed)
      s += text(d, d.exact             ? "exact copy"
                   : d.similarity >= 0 ? fmt::format("near copy, similarity {:.2f}", d.similarity)
                                       : "near copy");
    s += "</div></details>";
  }
  return s;
}

std::string stages(const Json& m) {
  std::string s =
      "<h2>Stages</h2><div class=\"scroll\"><table><tr><th>stage</th><th>documents in</th><th>out</th><th>bytes "
      "in</th>"
      "<th>seconds</th><th>peak memory</th></tr>";
  for (const Json& st : m.at("stages").as_array())
    s += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{}</td></tr>",
                     html_text(st.at("name").as_string()), grouped(count(st, "documents_in")),
                     grouped(count(st, "documents_out")), bytes_text(count(st, "bytes_in")),
                     st.at("seconds").as_double(), bytes_text(count(st, "peak_rss")));
  return s + "</table></div>";
}

std::string left_out(const Json& m) {
  const Json& read = m.at("read");
  std::string s;
  for (const char* key : {"bad_json", "no_text", "bad_utf8", "too_long", "cut", "blank", "not_text"})
    if (const int64_t n = count(read, key); n > 0)
      s += fmt::format("<tr><td>{}</td><td>{}</td></tr>", key, grouped(n));
  if (!s.empty()) s = "<h2>Rows that are no documents</h2><table><tr><th>why</th><th>rows</th></tr>" + s + "</table>";
  std::string first;
  for (const Json& e : read.at("examples").as_array()) first += html_text(e.as_string()) + "\n";
  for (const Json& d : m.at("damaged_files").as_array()) first += html_text(d.as_string()) + "\n";
  return first.empty() ? s : s + "<pre>" + first + "</pre>";
}

}  // namespace

std::string corpus_html_report(const Json& m, std::span<const ClusterSample> samples) {
  const int64_t documents = count(m.at("read"), "documents"), kept = count(m, "kept");
  const std::string title = m.at("tool").at("name").as_string();
  std::string s = fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{1}</style></head><body><main>"
      "<h1>{2} of {3} documents stay</h1><p class=\"note\">{0} {4}, preset {5}, configuration {6}</p>"
      "<div class=\"tiles\">",
      html_text(title), kStyle, grouped(kept), grouped(documents), html_text(m.at("tool").at("version").as_string()),
      html_text(m.at("config").at("preset").as_string()), html_text(m.at("config_hash").as_string()));
  s += tile(bytes_text(count(m.at("read"), "text_bytes")), "of text read");
  s += tile(grouped(count(m, "exact_removed")), "exact copies removed");
  s += tile(grouped(count(m, "near_removed")), "near copies removed");
  s += tile(grouped(count(m.at("clusters"), "count")), "clusters");
  s += tile(grouped(count(m.at("clusters"), "largest")), "documents in the largest");
  if (const Json* w = m.find("removed_unlike_survivor"))
    s += tile(grouped(w->as_int()), "removed unlike their survivor");
  s += "</div>";
  s += funnel(m) + rules(m) + overlap(m) + cluster_sizes(m) + similarities(m) + largest(m, samples) + stages(m) +
       left_out(m);
  return s + "</main></body></html>\n";
}

}  // namespace quern::corpus

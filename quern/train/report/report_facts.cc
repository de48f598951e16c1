// Renders recipe.json for people, without knowing its keys: sections become cards, lists of sections tables.
#include <algorithm>

#include "quern/base/error.h"
#include "quern/train/report/report.h"
#include "quern/train/report/report_chart.h"

namespace quern::report {
namespace {

bool is_table(const Json& j) {
  return j.is_array() && !j.as_array().empty() &&
         std::all_of(j.as_array().begin(), j.as_array().end(), [](const Json& x) { return x.is_object(); });
}

std::string value_text(const Json& j) {
  if (j.is_string()) return j.as_string();
  if (j.is_bool()) return j.as_bool() ? "yes" : "no";
  if (j.is_int()) {  // 12 345 678
    std::string s = fmt::format("{}", j.as_int());
    for (int at = static_cast<int>(s.size()) - 3; at > (s[0] == '-' ? 1 : 0) && s.size() > 4; at -= 3)
      s.insert(static_cast<size_t>(at), "\u202f");
    return s;
  }
  if (j.is_number()) return fmt::format("{:.6g}", j.as_double());
  if (j.is_null()) return "—";
  if (j.is_array()) {
    std::string s;
    for (const Json& x : j.as_array()) s += (s.empty() ? "" : ", ") + value_text(x);
    return s.empty() ? "none" : s;
  }
  return j.dump();
}

using Flat = std::vector<std::pair<std::string, Json>>;

// Sections within sections become dotted keys; tables are left out, they have a place of their own.
void flatten(const Json& j, const std::string& prefix, Flat& out, bool tables) {
  for (const auto& [k, v] : j.as_object()) {
    if (v.is_object() && !v.as_object().empty()) {
      flatten(v, prefix + k + ".", out, tables);
    } else if (!is_table(v)) {
      out.emplace_back(prefix + k, v);
    } else if (tables) {
      for (size_t i = 0; i < v.as_array().size(); ++i)
        flatten(v.as_array()[i], fmt::format("{}{}[{}].", prefix, k, i), out, true);
    }
  }
}

std::string card(const std::string& title, const Flat& facts) {
  if (facts.empty()) return "";
  std::string s = fmt::format("<section class=\"card\"><h3>{}</h3><dl>", escaped(title));
  for (const auto& [k, v] : facts)
    s += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escaped(k), escaped(value_text(v)));
  return s + "</dl></section>";
}

std::string table(const std::string& title, const Json::Array& rows) {
  std::vector<Flat> flat(rows.size());
  std::vector<std::string> columns;
  for (size_t i = 0; i < rows.size(); ++i) {
    flatten(rows[i], "", flat[i], true);
    for (const auto& [k, v] : flat[i])
      if (std::find(columns.begin(), columns.end(), k) == columns.end()) columns.push_back(k);
  }
  std::string s =
      fmt::format("<section class=\"card wide\"><h3>{}</h3><div class=\"scroll\"><table><thead><tr>", escaped(title));
  for (const std::string& c : columns) s += fmt::format("<th>{}</th>", escaped(c));
  s += "</tr></thead><tbody>";
  for (const Flat& row : flat) {
    s += "<tr>";
    for (const std::string& c : columns) {
      const auto at = std::find_if(row.begin(), row.end(), [&](const auto& kv) { return kv.first == c; });
      s += fmt::format("<td>{}</td>", at == row.end() ? "" : escaped(value_text(at->second)));
    }
    s += "</tr>";
  }
  return s + "</tbody></table></div></section>";
}

void collect_tables(const Json& j, const std::string& prefix, std::string& out) {
  for (const auto& [k, v] : j.as_object()) {
    if (v.is_object()) collect_tables(v, prefix + k + ".", out);
    if (is_table(v)) out += table(prefix + k, v.as_array());
  }
}

}  // namespace

std::string facts_html(const Json& recipe) {
  std::string cards, tables;
  Flat top;
  for (const auto& [k, v] : recipe.as_object("recipe.json")) {
    if (!v.is_object()) {
      if (!is_table(v)) top.emplace_back(k, v);
      continue;
    }
    Flat facts;
    flatten(v, "", facts, false);
    cards += card(k, facts);
  }
  collect_tables(recipe, "", tables);
  return "<div class=\"facts\">" + card("run", top) + cards + tables + "</div>";
}

std::string differences_html(std::span<const Run> runs) {
  std::vector<Flat> flat(runs.size());
  std::vector<std::string> keys;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].recipe.is_object()) flatten(runs[i].recipe, "", flat[i], true);
    for (const auto& [k, v] : flat[i])
      if (std::find(keys.begin(), keys.end(), k) == keys.end()) keys.push_back(k);
  }
  std::string rows;
  for (const std::string& key : keys) {
    std::vector<std::string> cells;
    for (const Flat& f : flat) {
      const auto at = std::find_if(f.begin(), f.end(), [&](const auto& kv) { return kv.first == key; });
      cells.push_back(at == f.end() ? "absent" : value_text(at->second));
    }
    if (std::all_of(cells.begin(), cells.end(), [&](const std::string& c) { return c == cells[0]; })) continue;
    rows += fmt::format("<tr><th>{}</th>", escaped(key));
    for (const std::string& c : cells) rows += fmt::format("<td>{}</td>", escaped(c));
    rows += "</tr>";
  }
  if (rows.empty()) return "";
  std::string s = "<div class=\"scroll\"><table class=\"differences\"><thead><tr><th></th>";
  for (const Run& r : runs) s += fmt::format("<th>{}</th>", escaped(r.name));
  return s + "</tr></thead><tbody>" + rows + "</tbody></table></div>";
}

}  // namespace quern::report

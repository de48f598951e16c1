// Renders recipe.json for people, without knowing its keys: sections become cards, lists of sections tables.
#include <algorithm>

#include "quern/base/error.h"
#include "quern/html/web_files.h"
#include "quern/train/report/report.h"
#include "quern/train/report/report_chart.h"

namespace quern::train::report {
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
  std::string all;
  for (const auto& [k, v] : facts) all += part("fact", {{"key", k}, {"value", value_text(v)}});
  return part("card", {{"title", title}, {"facts", all}});
}

std::string table(const std::string& title, const Json::Array& sections) {
  std::vector<Flat> flat(sections.size());
  std::vector<std::string> columns;
  for (size_t i = 0; i < sections.size(); ++i) {
    flatten(sections[i], "", flat[i], true);
    for (const auto& [k, v] : flat[i])
      if (std::find(columns.begin(), columns.end(), k) == columns.end()) columns.push_back(k);
  }
  std::string headings, rows;
  for (const std::string& c : columns) headings += part("heading", {{"name", c}});
  for (const Flat& row : flat) {
    std::string cells;
    for (const std::string& c : columns) {
      const auto at = std::find_if(row.begin(), row.end(), [&](const auto& kv) { return kv.first == c; });
      cells += part("cell", {{"value", at == row.end() ? "" : value_text(at->second)}});
    }
    rows += part("row", {{"cells", cells}});
  }
  return part("table", {{"title", title}, {"headings", headings}, {"rows", rows}});
}

void collect_tables(const Json& j, const std::string& prefix, std::string& out) {
  for (const auto& [k, v] : j.as_object()) {
    if (v.is_object()) collect_tables(v, prefix + k + ".", out);
    if (is_table(v)) out += table(prefix + k, v.as_array());
  }
}

}  // namespace

std::string part(std::string_view fragment, std::initializer_list<html::HtmlValue> values) {
  static const html::HtmlTemplate t(html::web_file("training_report.html"));
  return t.fill(fragment, values);
}

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
  return part("facts", {{"cards", card("run", top) + cards + tables}});
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
    std::string all;
    for (const std::string& c : cells) all += part("cell", {{"value", c}});
    rows += part("difference", {{"key", key}, {"cells", all}});
  }
  if (rows.empty()) return "";
  std::string names;
  for (const Run& r : runs) names += part("heading", {{"name", r.name}});
  return part("differences-table", {{"runs", names}, {"rows", rows}});
}

}  // namespace quern::train::report

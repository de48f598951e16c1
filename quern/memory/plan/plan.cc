#include "quern/memory/plan/plan.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::memory {

const char* column_name(Column c) {
  switch (c) {
    case Column::response_index:
      return "Response_Index";
    case Column::session_index:
      return "Session_Index";
    case Column::speaker:
      return "Speaker";
    case Column::day_name:
      return "Day_Name";
    case Column::date:
      return "Date";
    case Column::time:
      return "Time";
    case Column::date_time:
      return "Date_Time";
  }
  return "";
}

std::string sql_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    if (c != '\0') out += c;
  }
  return out + "'";
}

std::string Plan::text() const {
  std::string out = "[";
  for (const PlanStep& s : steps) {
    if (out.size() > 1) out += ", ";
    out += fmt::format("{}({},[{}])", s.between ? "f_between" : "f_value", column_name(s.column),
                       fmt::join(s.values, ","));
  }
  return out + "]";
}

std::string Plan::sql(int64_t conversation) const {
  std::string out = fmt::format("SELECT resp FROM turn WHERE conv = {}", conversation);
  for (const PlanStep& s : steps) out += " AND " + s.sql;
  return out + " ORDER BY resp";
}

Json Plan::json(int64_t conversation) const {
  Json j = Json::object();
  j.set("chain", text());
  Json list = Json::array();
  for (const PlanStep& s : steps) {
    Json step = Json::object();
    step.set("function", s.between ? "f_between" : "f_value");
    step.set("column", column_name(s.column));
    Json values = Json::array();
    for (const std::string& v : s.values) values.push(v);
    step.set("values", std::move(values));
    list.push(std::move(step));
  }
  j.set("steps", std::move(list));
  j.set("sql", sql(conversation));
  return j;
}

}  // namespace quern::memory

// Query plan of a temporal question: which rows of the conversation table it selects. The constraints of a TimeQuery
// become a chain of the paper's two functions over its columns: f_value(column,[v, …]) keeps rows with one of the
// values and f_between(column,[lo,hi]) those inside, and each is also a SQL condition. Counting ("the third chat in
// May") is resolved to session numbers, so the chain says what was kept. Cost: searches in the columns of time and sessions, a
// few for every run of rows that is kept; days of the week and hours cost some for every day.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/memory/plan/row_runs.h"
#include "quern/memory/plan/turn_table.h"
#include "quern/memory/time/time_query.h"

namespace quern::memory {

enum class Column : uint8_t { response_index, session_index, speaker, day_name, date, time, date_time };
const char* column_name(Column c);

struct PlanStep {
  Column column;
  bool between = false;
  std::vector<std::string> values;  // as the paper writes them; between: lo, hi and possibly more pairs
  std::string sql;                  // the condition
};

struct Plan {
  std::vector<PlanStep> steps;
  std::string text() const;                     // [f_value(Session_Index,[3]), …]
  std::string sql(int64_t conversation) const;  // SELECT … WHERE …
  Json json(int64_t conversation) const;
};

struct Selection {
  Plan plan;
  RowRuns rows;
  std::optional<int32_t> speaker;  // only this one's turns among the rows; none: those of all that are in them
  std::vector<std::string> notes;  // what was set aside, widened, or could not be meant
  bool restricted = false;         // a constraint applied
  bool timed = false;              // by a time
  size_t size(const TurnTable& table) const;
  bool has(uint32_t row, const TurnTable& table) const;
  std::vector<uint32_t> list(const TurnTable& table) const;                // ascending
  std::optional<RowRuns> runs(const TurnTable& table, size_t most) const;  // none: there are more
};
// Whose turns are meant: one speaker's, or those of all but one.
struct SpeakersMeant {
  std::optional<int32_t> only = {}, left_out = {};
};
// Turns after clock.utc(), whatever their own clocks showed, do not exist for the question. Responses are counted among those of the
// speakers; the chain does not name them.
Selection select_rows(const TimeQuery& query, const TurnTable& table, const Clock& clock,
                      SpeakersMeant speakers = {});
// The number of the session going on at `now`: one past the last, unless its last turn is younger than the gap.
int32_t current_session(const TurnTable& table, const Clock& clock);

std::string sql_quoted(std::string_view text);

}  // namespace quern::memory

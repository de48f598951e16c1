// The resident columns of one conversation, in order of time; turns of one second in the order in which they came in. A turn
// that was added late has a higher response number than those behind it: `arrived` then leads from numbers to rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "quern/memory/plan/row_runs.h"
#include "quern/memory/time/calendar.h"

namespace quern::memory {

struct TurnRow {
  int64_t id = 0;
  int32_t response = 0, session = 0, speaker = 0;
  int64_t utc = 0;
  int32_t offset = 0;
};

struct TurnTable {
  std::vector<int64_t> id;        // in the store
  std::vector<int32_t> response;  // number within the conversation, from 0
  std::vector<int32_t> session;   // from 1
  std::vector<int32_t> speaker;
  std::vector<int64_t> utc;
  std::vector<int32_t> offset;              // of the wall clock there and then
  std::vector<uint32_t> arrived;            // rows by their response numbers; empty: rows are in this order
  std::vector<std::vector<uint32_t>> said;  // rows by speaker, ascending
  int32_t min_offset = 0, max_offset = 0;   // of all turns
  int64_t gap = 20 * 60;                    // seconds of silence that begin a new session

  void push(const TurnRow& row);      // behind all, whatever its time; then sort_by_time()
  void sort_by_time();                // of rows in the order of their numbers
  size_t insert(const TurnRow& row);  // the newest number, where its time belongs: there
  TurnRow row(size_t i) const { return {id[i], response[i], session[i], speaker[i], utc[i], offset[i]}; }
  size_t size() const { return id.size(); }
  LocalSeconds local(size_t row) const { return utc[row] + offset[row]; }
  size_t by_number(size_t i) const { return arrived.empty() ? i : arrived[i]; }  // the row of the i-th number
  int32_t last_number() const { return size() ? response[by_number(size() - 1)] : -1; }
  std::optional<size_t> row_of(int32_t number) const;
  size_t row_of_id(int64_t id) const;        // which must be there
  size_t rows_before(int32_t number) const;  // how many have a lower one
  // Rows as runs of response numbers, in which no number of another row lies.
  std::vector<std::pair<int32_t, int32_t>> runs(const RowRuns& rows) const;
  // Rows whose clock on the wall showed lo to hi. Found by search; only those within the offsets' spread of an end are
  // looked at one by one. The search begins at a row at or before the first of them.
  RowRuns local_between(LocalSeconds lo, LocalSeconds hi, size_t begin = 0) const;
  size_t first_at(int64_t second, size_t begin = 0) const;  // the first row of that time (utc) or a later one
  size_t rows_until(int64_t second) const { return first_at(second + 1); }  // how many are no later (utc)
  size_t session_begin(int32_t number, size_t begin = 0) const;  // the first row of that session or of a later one
  RowRuns in_sessions(std::span<const int32_t> numbers) const;   // ascending
  std::vector<int32_t> sessions_of(const RowRuns& rows) const;
  std::span<const uint32_t> said_by(int32_t number) const;  // rows of a speaker
  size_t bytes() const;

 private:
  void note(size_t row);  // whose it is, and its offset
};

}  // namespace quern::memory

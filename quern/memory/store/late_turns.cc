// Sessions of turns that come late: by their time, among the turns that are there.
#include <algorithm>

#include "quern/memory/store/store.h"

namespace quern::memory {

// One turn, whose own row is not there yet: it belongs to the session of the turn before it, or else to that of the turn
// behind it, if no more than the gap lies between; else it opens one between the two.
ConversationStore::SessionPlace ConversationStore::place_late(int64_t conversation, int64_t utc, int64_t gap,
                                                              int32_t last) {
  struct Neighbor {
    int32_t session = 0;  // 0: there is none
    int64_t ts = 0;
  };
  const auto neighbor = [&](const char* sql) {
    SqliteStatement s = db_.prepare(sql);
    s.bind(conversation).bind(utc);
    return s.step() ? Neighbor{static_cast<int32_t>(s.integer(0)), s.integer(1)} : Neighbor();
  };
  const Neighbor before =
                     neighbor("SELECT session, ts FROM turn WHERE conv = ? AND ts <= ? ORDER BY ts DESC LIMIT 1"),
                 behind = neighbor("SELECT session, ts FROM turn WHERE conv = ? AND ts > ? ORDER BY ts LIMIT 1");
  const bool late = behind.session != 0;
  if (before.session != 0 && (utc - before.ts <= gap || before.session == behind.session))
    return {before.session, late, false, false};
  if (!late) return {last + 1, false, true, false};  // those that were later are forgotten
  if (behind.ts - utc <= gap) return {behind.session, true, false, false};
  SqliteStatement move = db_.prepare("UPDATE turn SET session = session + 1 WHERE conv = ? AND session >= ?");
  move.bind(conversation).bind(int64_t{behind.session}).run();
  begin_epoch(conversation);
  return {behind.session, true, true, true};
}

// Many turns, which have session 0 so far, by the same rules in one pass over the conversation.
void ConversationStore::place_all_late(int64_t conversation) {
  struct Row {
    int64_t id, ts;
    int32_t session, placed;
  };
  std::vector<Row> rows;
  int64_t gap = 0, last = 0;
  {
    SqliteStatement s = db_.prepare("SELECT gap, last_session FROM conversation WHERE id = ?");
    s.bind(conversation).step();
    gap = s.integer(0), last = s.integer(1);
    SqliteStatement all = db_.prepare("SELECT id, ts, session FROM turn WHERE conv = ? ORDER BY ts, id");
    all.bind(conversation);
    while (all.step()) rows.push_back({all.integer(0), all.integer(1), static_cast<int32_t>(all.integer(2)), 0});
  }
  std::vector<size_t> next(rows.size() + 1, rows.size());  // the next one that has a session
  for (size_t i = rows.size(); i-- > 0;) next[i] = rows[i].session != 0 ? i : next[i + 1];
  int32_t moved = 0, known = 0;  // known: the session, as it was, of the last one that had one
  for (size_t i = 0; i < rows.size(); ++i) {
    Row& r = rows[i];
    if (r.session != 0) {
      r.placed = r.session + moved, known = r.session;
      continue;
    }
    const Row* behind = next[i] < rows.size() ? &rows[next[i]] : nullptr;
    if (i > 0 && (r.ts - rows[i - 1].ts <= gap || (behind && behind->session == known)))
      r.placed = rows[i - 1].placed;
    else if (!behind)
      r.placed = static_cast<int32_t>(last) + ++moved;
    else if (behind->ts - r.ts <= gap)
      r.placed = behind->session + moved;
    else
      r.placed = behind->session + moved++;
  }
  SqliteStatement set = db_.prepare("UPDATE turn SET session = ? WHERE id = ?");
  for (const Row& r : rows)
    if (r.placed != r.session) set.bind(int64_t{r.placed}).bind(r.id).run();
  SqliteStatement count = db_.prepare("UPDATE conversation SET last_session = last_session + ? WHERE id = ?");
  count.bind(int64_t{moved}).bind(conversation).run();
  begin_epoch(conversation);
}

}  // namespace quern::memory

#include "quern/memory/store/store.h"

#include <algorithm>
#include <set>

#include "quern/base/error.h"
#include "quern/memory/time/calendar.h"
#include "quern/text/unicode/utf8.h"

namespace quern::memory {
namespace {

constexpr int kVersion = 2;
constexpr const char* kTopicSchema = R"(
CREATE TABLE IF NOT EXISTS topic_file(conv INTEGER NOT NULL, segment INTEGER NOT NULL, token INTEGER NOT NULL,
  PRIMARY KEY(conv, segment));
)";
constexpr const char* kSchema = R"(
CREATE TABLE IF NOT EXISTS conversation(id INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT NOT NULL DEFAULT '',
  name TEXT NOT NULL, zone TEXT NOT NULL, gap INTEGER NOT NULL, next_resp INTEGER NOT NULL DEFAULT 0,
  last_session INTEGER NOT NULL DEFAULT 0, last_ts INTEGER, epoch INTEGER NOT NULL DEFAULT 0, UNIQUE(user, name));
CREATE TABLE IF NOT EXISTS speaker(id INTEGER PRIMARY KEY, conv INTEGER NOT NULL, number INTEGER NOT NULL,
  name TEXT NOT NULL, UNIQUE(conv, name), UNIQUE(conv, number));
CREATE TABLE IF NOT EXISTS turn(id INTEGER PRIMARY KEY, conv INTEGER NOT NULL, resp INTEGER NOT NULL,
  session INTEGER NOT NULL, speaker INTEGER NOT NULL, ts INTEGER NOT NULL, tz_off INTEGER NOT NULL,
  day INTEGER NOT NULL, dow INTEGER NOT NULL, week INTEGER NOT NULL, tod INTEGER NOT NULL, text TEXT NOT NULL,
  UNIQUE(conv, resp));
CREATE INDEX IF NOT EXISTS turn_day ON turn(conv, day);
CREATE INDEX IF NOT EXISTS turn_session ON turn(conv, session);
CREATE INDEX IF NOT EXISTS turn_time ON turn(conv, ts);
)";

std::string_view checked(std::string_view text, const char* what) {
  if (text.size() > kMaxTurnBytes) fail("{}: {} bytes, a turn has at most {}", what, text.size(), kMaxTurnBytes);
  if (const size_t bad = text::utf8_error(text); bad != text.npos)
    fail("{}: not valid UTF-8 at byte {} (0x{:02x})", what, bad, static_cast<unsigned char>(text[bad]));
  return text;
}

}  // namespace

ConversationStore::ConversationStore(const std::filesystem::path& file, Options o) : db_(file, SqliteOpen{o.create}) {
  in_memory_ = file == ":memory:";
  topic_segment_turns_ = o.topic_segment_turns;
  if (!in_memory_) db_.execute("PRAGMA journal_mode = WAL");
  db_.execute(o.durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  // A turn dirties half a dozen pages; copying the log back waits for the disk, so it happens once in a thousand
  // turns.
  db_.execute("PRAGMA wal_autocheckpoint = 8000");
  db_.execute("PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000");
  auto version = [&] {
    SqliteStatement s = db_.prepare("PRAGMA user_version");
    s.step();
    return s.integer(0);
  };
  if (version() == 0) {
    SqliteWrite w(db_);
    if (version() == 0) {
      {
        SqliteStatement tables = db_.prepare("SELECT count(*) FROM sqlite_master");
        tables.step();
        if (tables.integer(0) != 0) fail("{} is an SQLite file but not a quern memory", db_.file());
      }
      db_.execute(kSchema);
      db_.execute(fmt::format("PRAGMA user_version = {}", kVersion));
    }
    w.commit();
  }
  if (version() == 1) {
    SqliteWrite w(db_);
    if (version() == 1) upgrade();
    w.commit();
  }
  if (version() != kVersion) fail("{}: memory format version {}, expected {}", db_.file(), version(), kVersion);
  if (!has_topic_table()) {  // made now, or before files were named in the database
    SqliteWrite w(db_);
    if (!has_topic_table()) remove_strange_topic_files(TopicFiles::all);
    db_.execute(kTopicSchema);
    w.commit();
  } else if (!in_memory_ && !strange_topic_files(TopicFiles::complete).empty()) {
    SqliteWrite w(db_);  // nobody is between giving a name and saying so
    remove_strange_topic_files(TopicFiles::complete);
    w.commit();
  }
  last_.emplace(
      db_.prepare("SELECT next_resp, last_session, last_ts, gap, last_ts IS NULL FROM conversation WHERE id = ?"));
  insert_.emplace(
      db_.prepare("INSERT INTO turn(conv, resp, session, speaker, ts, tz_off, day, dow, week, tod, text) "
                  "VALUES(?,?,?,?,?,?,?,?,?,?,?)"));
  speaker_.emplace(db_.prepare("SELECT number FROM speaker WHERE conv = ? AND name = ?"));
  text_.emplace(db_.prepare("SELECT text FROM turn WHERE id = ?"));
  note_.emplace(db_.prepare("UPDATE conversation SET next_resp = ?, last_session = ?, last_ts = ? WHERE id = ?"));
}

// From version 1, whose conversations belonged to nobody and whose turns came in order of time.
void ConversationStore::upgrade() {
  db_.execute("ALTER TABLE conversation RENAME TO conversation_1");
  db_.execute(kSchema);
  db_.execute(
      "INSERT INTO conversation(id, name, zone, gap, next_resp, last_session, last_ts)"
      " SELECT id, name, zone, gap, next_resp, last_session, last_ts FROM conversation_1;"
      "DROP TABLE conversation_1");
  db_.execute(fmt::format("PRAGMA user_version = {}", kVersion));
}

std::vector<ConversationInfo> ConversationStore::conversations() {
  std::vector<ConversationInfo> out;
  SqliteStatement s = db_.prepare(
      "SELECT c.id, c.name, c.zone, c.user, c.gap, (SELECT count(*) FROM turn t WHERE t.conv = c.id),"
      " (SELECT count(DISTINCT session) FROM turn t WHERE t.conv = c.id) FROM conversation c ORDER BY c.id");
  while (s.step())
    out.push_back({s.integer(0), std::string(s.text(1)), std::string(s.text(2)), std::string(s.text(3)), s.integer(4),
                   s.integer(5), s.integer(6)});
  return out;
}

namespace {
std::optional<ConversationInfo> info_in(SqliteStatement& s) {
  if (!s.step()) return std::nullopt;
  ConversationInfo c{.id = s.integer(0), .name = std::string(s.text(1)), .zone = std::string(s.text(2))};
  c.user = s.text(3), c.gap = s.integer(4);
  return c;
}
}  // namespace

std::vector<ConversationInfo> ConversationStore::names() {
  std::vector<ConversationInfo> out;
  SqliteStatement s = db_.prepare("SELECT id, name, zone, user, gap FROM conversation ORDER BY id");
  while (auto info = info_in(s)) out.push_back(std::move(*info));
  return out;
}

std::optional<ConversationInfo> ConversationStore::look_up(const std::string& name, const std::string& user) {
  SqliteStatement s = db_.prepare("SELECT id, name, zone, user, gap FROM conversation WHERE user = ? AND name = ?");
  s.bind(user).bind(name);
  return info_in(s);
}

std::optional<ConversationInfo> ConversationStore::look_up(int64_t id) {
  SqliteStatement s = db_.prepare("SELECT id, name, zone, user, gap FROM conversation WHERE id = ?");
  s.bind(id);
  return info_in(s);
}

ConversationInfo ConversationStore::find(const std::string& name, const std::string& user) {
  if (!name.empty())
    if (auto found = look_up(name, user)) return *found;
  std::vector<std::string> names;
  SqliteStatement s = db_.prepare("SELECT name FROM conversation WHERE user = ? ORDER BY id LIMIT 30");
  s.bind(user);
  while (s.step()) names.emplace_back(s.text(0));
  if (name.empty() && names.size() == 1) return *look_up(names[0], user);
  const std::string of = user.empty() ? "" : fmt::format(" of the user '{}'", user);
  if (names.empty()) fail("{} holds no conversation{}", db_.file(), of);
  if (name.empty())
    fail("{} holds several conversations{} ({}): name one of them", db_.file(), of, fmt::join(names, ", "));
  fail("{} holds no conversation '{}'{}; there are: {}", db_.file(), name, of, fmt::join(names, ", "));
}

ConversationInfo ConversationStore::create(const std::string& name, const std::string& zone, int64_t gap,
                                           const std::string& user) {
  if (name.empty()) fail("a conversation needs a name");
  if (gap < 1) fail("gap of {} seconds, expected 1 or more", gap);
  SqliteStatement s = db_.prepare("INSERT INTO conversation(user, name, zone, gap) VALUES(?, ?, ?, ?)");
  s.bind(checked(user, "name of the user"))
      .bind(checked(name, "name of the conversation"))
      .bind(zone)
      .bind(gap)
      .run();
  return *look_up(name, user);
}

int32_t ConversationStore::speaker_number(int64_t conversation, const std::string& name) {
  speaker_->bind(conversation).bind(name);
  if (speaker_->step()) {
    const int32_t n = static_cast<int32_t>(speaker_->integer(0));
    speaker_->reset();
    return n;
  }
  speaker_->reset();
  SqliteStatement s = db_.prepare(
      "INSERT INTO speaker(conv, number, name) VALUES(?, (SELECT coalesce(max(number), -1) + 1 FROM speaker WHERE "
      "conv = ?), ?)");
  s.bind(conversation).bind(conversation).bind(name).run();
  return speaker_number(conversation, name);
}

StoredTurn ConversationStore::insert(int64_t conversation, const SpokenTurn& t, Placing placing) {
  checked(t.text, "text of the turn");
  checked(t.speaker, "speaker");
  if (t.speaker.empty()) fail("a turn needs a speaker");
  if (t.text.find_first_not_of(" \t\r\n\f\v") == t.text.npos)
    fail("the turn of '{}' is empty: expected what was said", t.speaker);
  for (const int64_t time : {t.utc, t.utc + t.offset})
    if (time < kFirstSecond || time > kLastSecond) fail("time {}: not in the years 1 to 9999", t.utc);
  last_->bind(conversation);
  if (!last_->step()) {
    last_->reset();
    fail("{}: no conversation number {}", db_.file(), conversation);
  }
  StoredTurn out;
  out.response = static_cast<int32_t>(last_->integer(0));
  const int64_t session = last_->integer(1), before = last_->integer(2), gap = last_->integer(3);
  const bool first = last_->integer(4) != 0;
  last_->reset();
  int64_t last = session;
  if (placing == Placing::together || (!first && t.utc < before && placing == Placing::later)) {
    out.late = !first && t.utc < before;  // session 0: place_all_late() gives it one
  } else if (!first && t.utc < before) {
    const SessionPlace at = place_late(conversation, t.utc, gap, static_cast<int32_t>(session));
    out.session = at.session, out.late = at.late, out.moved_sessions = at.moved;
    last += at.opened ? 1 : 0;
  } else {
    out.session = static_cast<int32_t>(first || t.utc - before > gap ? session + 1 : session);
    last = out.session;
  }
  out.speaker = speaker_number(conversation, t.speaker);
  const LocalSeconds local = t.utc + t.offset;
  const Day day = day_part(local);
  const IsoWeek week = iso_week(day);
  insert_->bind(conversation).bind(int64_t{out.response}).bind(int64_t{out.session}).bind(int64_t{out.speaker});
  insert_->bind(t.utc).bind(int64_t{t.offset}).bind(int64_t{day}).bind(int64_t{weekday_of(day)});
  insert_->bind(int64_t{week.year} * 100 + week.week).bind(int64_t{second_part(local)}).bind(t.text).run();
  out.id = db_.last_row();
  note_->bind(int64_t{out.response} + 1)
      .bind(last)
      .bind(first ? t.utc : std::max(before, t.utc))
      .bind(conversation)
      .run();
  return out;
}

StoredTurn ConversationStore::append(int64_t conversation, const SpokenTurn& turn) {
  SqliteWrite w(db_);
  const StoredTurn out = insert(conversation, turn, Placing::now);
  w.commit();
  return out;
}

std::vector<StoredTurn> ConversationStore::append_all(int64_t conversation, const std::vector<SpokenTurn>& turns) {
  std::vector<StoredTurn> out;
  out.reserve(turns.size());
  const bool in_order = std::is_sorted(turns.begin(), turns.end(),
                                       [](const SpokenTurn& a, const SpokenTurn& b) { return a.utc < b.utc; });
  SqliteWrite w(db_);
  for (const SpokenTurn& t : turns)
    out.push_back(insert(conversation, t, in_order ? Placing::later : Placing::together));
  if (!in_order || std::any_of(out.begin(), out.end(), [](const StoredTurn& t) { return t.late; })) {
    place_all_late(conversation);
    SqliteStatement number = db_.prepare("SELECT session FROM turn WHERE id = ?");
    for (StoredTurn& t : out) {
      number.bind(t.id).step();
      t.session = static_cast<int32_t>(number.integer(0)), t.moved_sessions = t.late;
      number.reset();
    }
  }
  w.commit();
  return out;
}

TurnTable ConversationStore::load(const ConversationInfo& c) { return load_after(c, -1); }

ConversationState ConversationStore::state(int64_t conversation) {
  SqliteStatement s = db_.prepare("SELECT next_resp, epoch FROM conversation WHERE id = ?");
  s.bind(conversation);
  return s.step() ? ConversationState{s.integer(0), s.integer(1)} : ConversationState();
}

void ConversationStore::begin_epoch(int64_t conversation) {
  SqliteStatement s = db_.prepare("UPDATE conversation SET epoch = epoch + 1 WHERE id = ?");
  s.bind(conversation).run();
}

TurnTable ConversationStore::load_after(const ConversationInfo& c, int32_t response) {
  TurnTable t;
  t.gap = c.gap;
  SqliteStatement s = db_.prepare(
      "SELECT id, resp, session, speaker, ts, tz_off FROM turn WHERE conv = ? AND resp > ? ORDER BY resp");
  s.bind(c.id).bind(int64_t{response});
  while (s.step())
    t.push({.id = s.integer(0),
            .response = static_cast<int32_t>(s.integer(1)),
            .session = static_cast<int32_t>(s.integer(2)),
            .speaker = static_cast<int32_t>(s.integer(3)),
            .utc = s.integer(4),
            .offset = static_cast<int32_t>(s.integer(5))});
  t.sort_by_time();
  return t;
}

std::vector<std::string> ConversationStore::speakers(int64_t conversation) {
  std::vector<std::string> out;
  SqliteStatement s = db_.prepare("SELECT number, name FROM speaker WHERE conv = ? ORDER BY number");
  s.bind(conversation);
  while (s.step()) {
    out.resize(static_cast<size_t>(s.integer(0)) + 1);
    out.back() = s.text(1);
  }
  return out;
}

void ConversationStore::each_turn(int64_t conversation, int32_t first, int32_t last,
                                  const std::function<void(int64_t, std::string_view)>& f) {
  SqliteStatement s = db_.prepare("SELECT id, text FROM turn WHERE conv = ? AND resp BETWEEN ? AND ? ORDER BY resp");
  s.bind(conversation).bind(int64_t{first}).bind(int64_t{last});
  while (s.step()) f(s.integer(0), s.text(1));
}

std::filesystem::path ConversationStore::topic_file(int64_t conversation, int32_t segment) const {
  if (in_memory_) return {};
  return std::filesystem::path(db_.file() + "-topics") / fmt::format("{}-{:06}.bm25", conversation, segment);
}

bool ConversationStore::has_topic_table() {
  SqliteStatement s = db_.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'topic_file'");
  s.step();
  return s.integer(0) != 0;
}

std::optional<int64_t> ConversationStore::topic_token(int64_t conversation, int32_t segment) {
  SqliteStatement s = db_.prepare("SELECT token FROM topic_file WHERE conv = ? AND segment = ?");
  s.bind(conversation).bind(int64_t{segment});
  if (!s.step()) return std::nullopt;
  return s.integer(0);
}

bool ConversationStore::give_topic_file(int64_t conversation, int32_t segment, int64_t turns, int64_t token,
                                        const std::filesystem::path& fresh) {
  SqliteWrite w(db_);  // nobody forgets meanwhile
  SqliteStatement s = db_.prepare("SELECT count(*) FROM turn WHERE conv = ? AND resp >= ? AND resp < ?");
  const int64_t first = int64_t{segment} * topic_segment_turns_;
  s.bind(conversation).bind(first).bind(first + topic_segment_turns_);
  s.step();
  const bool still = s.integer(0) == turns;
  s.reset();
  if (still) {
    const std::filesystem::path file = topic_file(conversation, segment);
    const std::set<int32_t> one = {segment};
    std::filesystem::rename(fresh, file);
    remove_topic_files(conversation, &one, file);
    SqliteStatement named = db_.prepare("INSERT INTO topic_file(conv, segment, token) VALUES(?, ?, ?)");
    named.bind(conversation).bind(int64_t{segment}).bind(token).run();
  } else {
    std::filesystem::remove(fresh);
  }
  w.commit();
  return still;
}

// Files that the database does not name: another one of this file's name left them, or a later state of this one.
std::vector<std::filesystem::path> ConversationStore::strange_topic_files(TopicFiles which) {
  std::vector<std::filesystem::path> out;
  const std::filesystem::path folder = topic_file(0, 0).parent_path();
  if (folder.empty() || !std::filesystem::exists(folder)) return out;
  std::set<std::filesystem::path> named;
  if (has_topic_table()) {
    SqliteStatement s = db_.prepare("SELECT conv, segment FROM topic_file");
    while (s.step()) named.insert(topic_file(s.integer(0), static_cast<int32_t>(s.integer(1))));
  }
  for (const auto& e : std::filesystem::directory_iterator(folder))
    if (!named.contains(e.path()) && (e.path().extension() == ".bm25" || which == TopicFiles::all))
      out.push_back(e.path());
  return out;
}

void ConversationStore::remove_strange_topic_files(TopicFiles which) {
  for (const auto& file : strange_topic_files(which)) {
    std::error_code ignored;  // without the right to remove it, it still does not count
    std::filesystem::remove(file, ignored);
  }
}

// Of all segments or of some: the names, and whatever a crash left beside them.
void ConversationStore::remove_topic_files(int64_t conversation, const std::set<int32_t>* segments,
                                           const std::filesystem::path& but) {
  SqliteStatement s = db_.prepare("DELETE FROM topic_file WHERE conv = ? AND segment BETWEEN ? AND ?");
  std::vector<std::string> prefixes;
  if (!segments) {
    s.bind(conversation).bind(int64_t{0}).bind(int64_t{INT32_MAX}).run();
    prefixes.push_back(fmt::format("{}-", conversation));
  } else {
    for (const int64_t one : *segments) {
      s.bind(conversation).bind(one).bind(one).run();
      prefixes.push_back(topic_file(conversation, static_cast<int32_t>(one)).filename().string());
    }
  }
  const std::filesystem::path folder = topic_file(conversation, 0).parent_path();
  if (folder.empty() || !std::filesystem::exists(folder)) return;
  for (const auto& e : std::filesystem::directory_iterator(folder))
    if (const std::string name = e.path().filename().string();
        e.path() != but &&
        std::any_of(prefixes.begin(), prefixes.end(), [&](const auto& p) { return name.starts_with(p); }))
      std::filesystem::remove(e.path());
}

std::string ConversationStore::text(int64_t id) {
  text_->bind(id);
  const bool there = text_->step();
  std::string out(there ? text_->text(0) : "");
  text_->reset();  // a statement that stands open would hold the log back
  if (!there) fail("{}: no turn number {}", db_.file(), id);
  return out;
}

// secure_delete overwrote the rows; what the free pages and the log still hold goes with VACUUM and an empty log.
void ConversationStore::erase_remains() {
  db_.execute("VACUUM");
  if (in_memory_) return;
  SqliteStatement s = db_.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  s.step();
  if (s.integer(0) != 0)
    fail(
        "{}: the turns are deleted, but another process reads the file, so that its log still holds their bytes: "
        "they go with the next deletion, or when the last program closes the file",
        db_.file());
}

int64_t ConversationStore::forget(int64_t conversation, const std::vector<int64_t>& ids) {
  int64_t gone = 0;
  {
    SqliteWrite w(db_);
    SqliteStatement s = db_.prepare("DELETE FROM turn WHERE id = ? AND conv = ?");
    SqliteStatement number = db_.prepare("SELECT resp FROM turn WHERE id = ? AND conv = ?");
    std::set<int32_t> segments;
    for (const int64_t id : ids) {
      number.bind(id).bind(conversation);
      if (number.step()) segments.insert(static_cast<int32_t>(number.integer(0) / topic_segment_turns_));
      number.reset();
      s.bind(id).bind(conversation).run();
      gone += db_.changes();
    }
    remove_topic_files(conversation, &segments);
    SqliteStatement names = db_.prepare(
        "DELETE FROM speaker WHERE conv = ? AND number NOT IN (SELECT DISTINCT speaker FROM turn WHERE conv = ?)");
    names.bind(conversation).bind(conversation).run();
    begin_epoch(conversation);
    w.commit();
  }
  erase_remains();
  return gone;
}

int64_t ConversationStore::forget_conversation(int64_t conversation) {
  int64_t gone = 0;
  {
    SqliteWrite w(db_);
    remove_topic_files(conversation, nullptr);
    for (const char* sql : {"DELETE FROM conversation WHERE id = ?", "DELETE FROM speaker WHERE conv = ?",
                            "DELETE FROM turn WHERE conv = ?"}) {
      SqliteStatement s = db_.prepare(sql);
      s.bind(conversation).run();
      gone = db_.changes();
    }
    w.commit();
  }
  erase_remains();
  return gone;
}

int64_t ConversationStore::data_version() {
  SqliteStatement s = db_.prepare("PRAGMA data_version");
  s.step();
  return s.integer(0);
}

void ConversationStore::check() {
  SqliteStatement s = db_.prepare("PRAGMA integrity_check");
  s.step();
  if (s.text(0) != "ok") fail("{}: {}", db_.file(), s.text(0));
}

}  // namespace quern::memory

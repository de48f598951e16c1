#include "quern/memory/ask/memory.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/memory/facts/foreign_finder.h"

namespace quern::memory {
namespace {

constexpr size_t kMaxQuestionBytes = 64 << 10;

// Zone and gap are fixed when a conversation begins: another one is refused, not passed over.
ConversationInfo unchanged(ConversationInfo found, const MemoryOptions& o) {
  if (!o.zone.empty() && o.zone != found.zone)
    fail(
        "the conversation '{}' has the time zone {} since it began, and not {}: leave the zone out, and give times "
        "with their offset where they are of another zone",
        found.name, found.zone, o.zone);
  if (o.gap != 0 && o.gap != found.gap)
    fail(
        "the conversation '{}' begins a new session after {} minutes of silence since it began, and not {}: leave "
        "the gap out",
        found.name, static_cast<double>(found.gap) / 60, static_cast<double>(o.gap) / 60);
  return found;
}

ConversationInfo choose(ConversationStore& store, const MemoryOptions& o) {
  if (!o.create) return store.find(o.conversation, o.user);
  std::string name = o.conversation;
  if (name.empty()) {
    const auto there = store.conversations();
    const auto mine = std::count_if(there.begin(), there.end(), [&](const auto& c) { return c.user == o.user; });
    if (mine > 0) return unchanged(store.find("", o.user), o);  // the only one, or it says that one must be named
    name = "main";
  }
  if (auto found = store.look_up(name, o.user)) return unchanged(*found, o);
  const std::string zone = o.zone.empty() ? "UTC" : o.zone;
  Zone::load(zone);  // refuses what is no zone
  return store.create(name, zone, o.gap ? o.gap : kUsualGap, o.user);
}

}  // namespace

const char* route_name(Route r) {
  switch (r) {
    case Route::time:
      return "time";
    case Route::topic:
      return "topic";
    case Route::both:
      return "time and topic";
    case Route::neither:
      return "neither";
  }
  return "";
}

TopicRank topic_rank(std::string_view name) {
  if (name == "auto") return TopicRank::automatic;
  if (name == "bm25") return TopicRank::bm25;
  if (name == "mixpr") return TopicRank::mixpr;
  if (name == "both") return TopicRank::both;
  fail("ranking '{}', expected auto, bm25, mixpr or both", name);
}

Json MemoryResult::json(int64_t conversation) const {
  Json j = Json::object();
  Json list = Json::array();
  for (const int32_t r : responses) list.push(int64_t{r});
  j.set("responses", std::move(list));
  if (unmatched) j.set("unmatched", true);
  Json p = plan.json(conversation);
  p.set("route", route_name(route));
  if (!topic.empty()) p.set("topic", topic);
  if ((route == Route::time || route == Route::both) && !many_runs) {
    Json runs = Json::array();
    for (const auto& [lo, hi] : within) {
      Json run = Json::array();
      run.push(int64_t{lo}), run.push(int64_t{hi});
      runs.push(std::move(run));
    }
    p.set("within", std::move(runs));
  }
  if (occurrences) {
    Json n = Json::object();
    n.set("turns", occurrences->turns), n.set("sessions", occurrences->sessions);
    p.set("occurrences", std::move(n));
  }
  if (!reading.empty()) p.set("reading", reading);
  if (context_turn >= 0) p.set("context_turn", context_turn);
  j.set("plan", std::move(p));
  Json scored = Json::array();
  for (const RankedTurn& r : ranked) {
    Json one = Json::object();
    one.set("response", int64_t{r.response}), one.set("score", r.score);
    scored.push(std::move(one));
  }
  j.set("ranked", std::move(scored));
  Json said = Json::array();
  for (const std::string& n : notes) said.push(n);
  j.set("notes", std::move(said));
  return j;
}

Memory::Memory(const std::filesystem::path& file, MemoryOptions o)
    : store_(file, {.create = o.create, .durable = o.durable, .topic_segment_turns = o.topic_segment_turns}),
      info_(choose(store_, o)),
      zone_(Zone::load(info_.zone)) {
  if (o.background && file != ":memory:")
    builder_ = std::make_unique<TopicBuilder>(file, info_, o.topic_segment_turns);
}

void Memory::refresh() {
  const int64_t version = store_.data_version();
  if (loaded_ && version == version_) return;
  // Most often others added turns; reading all again is for turns that are forgotten and sessions that moved.
  constexpr size_t kFew = 1000;
  const ConversationState state = store_.state(info_.id);
  const bool known = loaded_ && state.epoch == epoch_;
  const TurnTable later = known ? store_.load_after(info_, table_.last_number()) : store_.load(info_);
  if (!known || table_.size() == 0) {
    table_ = later;
  } else if (later.size() > kFew && later.utc.front() < table_.utc.back()) {
    table_ = store_.load(info_);
  } else {
    for (size_t i = 0; i < later.size(); ++i) table_.insert(later.row(later.by_number(i)));
  }
  speakers_ = store_.speakers(info_.id);
  index_behind_ = true;
  version_ = version, loaded_ = true, epoch_ = state.epoch;
  next_response_ = std::max<int64_t>(state.next_response, int64_t{table_.last_number()} + 1);
}

const TurnTable& Memory::table() { return refresh(), table_; }
const std::vector<std::string>& Memory::speakers() { return refresh(), speakers_; }

void Memory::resident(const StoredTurn& s, const SpokenTurn& t) {
  if (!loaded_) return;
  if (s.response != next_response_) {  // others have added turns before it: all of them at the next question
    version_ = -1;
    return;
  }
  ++next_response_;
  const size_t row = table_.insert({s.id, s.response, s.session, s.speaker, t.utc, t.offset});
  if (s.moved_sessions)
    for (size_t r = row + 1; r < table_.size(); ++r) ++table_.session[r];
  if (static_cast<size_t>(s.speaker) >= speakers_.size()) speakers_.resize(static_cast<size_t>(s.speaker) + 1);
  speakers_[static_cast<size_t>(s.speaker)] = t.speaker;
  if (index_ && !index_behind_) index_->add(s, t.text);
}

StoredTurn Memory::add(const SpokenTurn& t) {
  const StoredTurn s = store_.append(info_.id, t);
  resident(s, t);
  return s;
}

std::vector<StoredTurn> Memory::add_all(const std::vector<SpokenTurn>& turns) {
  std::vector<StoredTurn> out = store_.append_all(info_.id, turns);
  if (std::any_of(out.begin(), out.end(), [](const StoredTurn& t) { return t.late; }))
    loaded_ = false;
  else
    for (size_t i = 0; i < out.size(); ++i) resident(out[i], turns[i]);
  return out;
}

// Of the table as it stands: a question counts in rows of one table from its beginning to its end.
const TopicIndex& Memory::index() {
  if (builder_) {
    index_ = builder_->take(store_);
    builder_.reset(), index_behind_ = true;
  }
  if (!index_) index_ = std::make_unique<TopicIndex>(store_, info_.id);
  if (index_behind_ || index_->has_unwritten()) index_->follow(table_);
  index_behind_ = false;
  return *index_;
}

void Memory::index_topics() {
  refresh();
  index();
}

size_t Memory::row_of(int32_t response) {
  refresh();
  const auto row = table_.row_of(response);
  if (!row) fail("response number {} does not exist", response);
  return *row;
}

std::string Memory::text(int32_t response) { return store_.text(table_.id[row_of(response)]); }

LocalSeconds Memory::last_turn() {
  refresh();
  if (table_.size() == 0) fail("conversation '{}' has no turns", info_.name);
  return zone_.to_local(table_.utc.back());
}

int64_t Memory::forget(const std::vector<int32_t>& responses) {
  std::vector<int64_t> ids;
  for (const int32_t r : responses) ids.push_back(table_.id[row_of(r)]);
  builder_.reset();  // which reads the file, and so would keep its log from being emptied
  const int64_t gone = store_.forget(info_.id, ids);
  loaded_ = false;
  return gone;
}

int64_t Memory::forget_all() {
  builder_.reset(), index_.reset();
  return store_.forget_conversation(info_.id);
}

size_t Memory::resident_bytes() const { return table_.bytes() + (index_ ? index_->bytes() : 0); }

// Words that no turn has can rank nothing. None: what the question asks about was never named.
Memory::TopicLeft Memory::drop_unheard(Topic& topic, std::vector<std::string>& notes) {
  std::vector<std::string> unheard;
  bool subject = false;
  for (const std::string& w : topic.words)
    if (index().turns_with(w) == 0) {
      unheard.push_back(w);
      subject |= std::find(topic.subjects.begin(), topic.subjects.end(), w) != topic.subjects.end();
    }
  if (unheard.empty()) return TopicLeft::some;
  if (subject && unheard.size() == topic.words.size()) {
    notes.push_back(fmt::format("no turn of the conversation has '{}'", fmt::join(unheard, "', '")));
    return TopicLeft::none;
  }
  std::erase_if(topic.words,
                [&](const std::string& w) { return std::find(unheard.begin(), unheard.end(), w) != unheard.end(); });
  notes.push_back(fmt::format("no turn of the conversation has '{}': not used", fmt::join(unheard, "', '")));
  return TopicLeft::some;
}

EventSource Memory::events_until(int64_t utc) {
  constexpr size_t kReadBytes = 4096;  // of a turn
  const size_t rows = table_.rows_until(utc);
  std::vector<int64_t> seen;  // ids, where some lie ahead
  if (rows < table_.size()) seen.assign(table_.id.begin(), table_.id.begin() + static_cast<std::ptrdiff_t>(rows));
  std::sort(seen.begin(), seen.end());
  return {.table = table_,
          .speakers = speakers_,
          .rows = rows,
          .top = [this, seen = std::move(seen), all = rows == table_.size()](
                     std::string_view query,
                     size_t k) { return all ? index().top(query, k) : index().top(query, k, seen); },
          .turns_with = [this](std::string_view word) { return index().turns_with(word); },
          .text = [this](uint32_t row) { return store_.text(table_.id[row]).substr(0, kReadBytes); }};
}

MemoryResult Memory::ask(std::string_view question, const AskOptions& o) {
  if (question.size() > kMaxQuestionBytes) fail("question: {} bytes, at most {}", question.size(), kMaxQuestionBytes);
  if (const int year = civil(day_part(o.now)).year; year < 1700 || year > 8999)
    fail("now: year {}, expected 1700 to 8999", year);
  if (o.k < 1) fail("k: {}, expected 1 or more", o.k);
  refresh();
  const Clock clock{.now = o.now,
                    .offset = o.offset.value_or(static_cast<int32_t>(o.now - zone_.to_utc(o.now))),
                    .semantics = o.semantics,
                    .order = o.order};
  const auto event = [&](std::string_view name, std::optional<int32_t> who) {
    return find_event(name, who, events_until(clock.utc()));
  };
  ReadQuestion read = read_question(question, o.context, {table_, speakers_, clock, o.asker, event});
  MemoryResult out;
  if (read.text != question) out.reading = read.text;
  out.context_turn = read.context_turn, out.notes = std::move(read.notes);
  if (by_fact(read, clock, o, out)) return out;
  if (read.foreign_fact && !foreign_fact(read.asked, TimeSaid::no, speakers_, o.asker))
    out.notes.push_back("questions about what may have changed are answered in English only: read as any other one");
  const auto who = read.speaker;
  const bool filtered = o.speaker_filter && who;
  const std::optional<int32_t> left_out = o.speaker_filter ? read.left_out : std::nullopt;
  Selection rows = select_rows(read.time, table_, clock, {filtered ? who : std::nullopt, left_out});
  out.plan = std::move(rows.plan);
  for (std::string& n : rows.notes) out.notes.push_back(std::move(n));
  if (who && read.topic.words.empty() && out.context_turn < 0) read.topic.words = read.topic.deeds;
  if (filtered) {
    const std::string& name = speakers_[static_cast<size_t>(*who)];
    out.plan.steps.push_back({Column::speaker,
                              false,
                              {name},
                              fmt::format("speaker = (SELECT number FROM speaker WHERE conv = {} AND name = {})",
                                          info_.id, sql_quoted(name))});
    rows.restricted = true;
  }
  if (left_out) leave_out(*left_out, rows, out);
  if (rows.restricted) tell_within(rows, out);
  const bool timed = !read.time.empty() || !read.time.notes.empty();
  const bool occurrence = read.occurrence.which != Occurrence::none && !read.topic.words.empty();
  const bool unheard =
      timed && !occurrence && !read.topic.words.empty() && drop_unheard(read.topic, out.notes) == TopicLeft::none;
  out.topic = read.topic.text();
  rows.restricted |= timed && out.topic.empty();
  if (unheard)
    out.route = Route::both, show_unmatched(rows, o, out);
  else if (occurrence)
    by_occurrence(read, rows, clock, o, out);
  else if (out.topic.empty())
    by_time(rows, out);
  else
    by_topic(rows, clock, o, out);
  if (out.responses.empty() && out.notes.empty()) out.notes.push_back("no turn of the conversation meets this");
  return out;
}

void Memory::leave_out(int32_t speaker, Selection& rows, MemoryResult& out) const {
  const std::string& name = speakers_[static_cast<size_t>(speaker)];
  std::vector<std::string> others = speakers_;
  others.erase(others.begin() + speaker);
  rows.rows = rows.rows - RowRuns::of(table_.said_by(speaker));
  rows.restricted = true;
  out.notes.push_back(fmt::format("the turns of all but {} are meant", name));
  out.plan.steps.push_back({Column::speaker, false, std::move(others),
                            fmt::format("speaker <> (SELECT number FROM speaker WHERE conv = {} AND name = {})",
                                        info_.id, sql_quoted(name))});
}

// A speaker's turns of a long time are one run each: so many serve nobody.
void Memory::tell_within(const Selection& rows, MemoryResult& out) const {
  constexpr size_t kMaxRuns = 1000;
  if (const auto few = rows.runs(table_, kMaxRuns))
    out.within = table_.runs(*few);
  else
    out.many_runs = true;
}

// Every row of the time; without one the latest session.
void Memory::by_time(Selection& rows, MemoryResult& out) const {
  out.route = rows.restricted ? Route::time : Route::neither;
  if (out.route == Route::neither && !rows.rows.empty()) {
    const int32_t last[] = {table_.session[rows.rows.back()]};
    rows.rows = rows.rows & table_.in_sessions(last);
    out.notes.push_back("neither a time nor a topic: the latest session");
  }
  for (const uint32_t r : rows.list(table_)) out.responses.push_back(table_.response[r]);
}

void Memory::by_topic(const Selection& rows, const Clock& clock, const AskOptions& o, MemoryResult& out) {
  out.route = rows.restricted ? Route::both : Route::topic;
  const size_t there = rows.size(table_);
  if (there > 0 || !rows.restricted) out.ranked = rank(out.topic, rows, o);
  for (const RankedTurn& r : out.ranked) out.responses.push_back(r.response);
  if (out.ranked.empty())
    tell_miss(rows, clock, o, out);
  else if (rows.restricted && out.ranked.size() < there)
    out.notes.push_back(
        fmt::format("the {} of {} turns there that suit '{}' best", out.ranked.size(), there, out.topic));
}

}  // namespace quern::memory

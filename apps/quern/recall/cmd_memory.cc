// quern memory add | import | ask | plan | sessions | export | forget | eval | speed: conversations that know when
// things were said.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/memory/ask/eval.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/ask/speed.h"
#include "quern/memory/store/import.h"

namespace quern {
namespace {

using namespace memory;

void need(const std::string& value, const char* verb, const char* flag) {
  if (value.empty()) throw UsageError(fmt::format("quern memory {}: {} is missing", verb, flag));
}

Semantics parse_semantics(const std::string& s) {
  if (s == "strict") return Semantics::strict;
  if (s == "tmd") return Semantics::tmd;
  throw UsageError(fmt::format("quern memory: --semantics '{}', expected strict or tmd", s));
}

TopicRank parse_rank(const std::string& name) {
  try {
    return topic_rank(name);
  } catch (const Error& e) {
    throw UsageError(fmt::format("--rank: {}", e.what()));
  }
}

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// On the conversation's wall; the machine's clock when nothing is given.
LocalSeconds parse_now(const std::string& text, const Zone& zone) {
  if (text.empty()) return zone.to_local(seconds_now());
  const WrittenTime t = parse_time_text(text, "--now");
  return t.offset ? zone.to_local(t.local - *t.offset) : t.local;
}

std::vector<ContextTurn> parse_context(const Json& j, const std::string& where) {
  std::vector<ContextTurn> out;
  for (const Json& t : j.as_array(where + ": context")) {
    const Json* speaker = t.find("speaker");
    out.push_back({speaker && speaker->is_string() ? speaker->as_string() : "",
                   t.at("text", where + ": context").as_string("text")});
  }
  return out;
}

int add(Words args) {
  std::string db, conversation, speaker, text, time, zone = "UTC";
  double gap = kUsualGap / 60.0;
  bool durable = false, json = false;
  Args a("memory add", "write one turn down, or one a line from standard input");
  a.positional("TEXT", text, false)
      .flag("--db", db, "the memory's file; made when it is not there")
      .flag("--speaker", speaker, "who said it")
      .flag("--time", time, "when, like \"2023-05-08 13:56\" or with +02:00; else now")
      .flag("--conversation", conversation, "its name; \"main\" when it is the first")
      .flag("--zone", zone, "of a conversation made now: Europe/Berlin, UTC, +02:00")
      .flag("--gap", gap, "of a conversation made now: minutes of silence that begin a new session")
      .flag("--durable", durable, "wait for the disk")
      .flag("--json", json, "one JSON object")
      .note(
          "Without TEXT: lines {\"speaker\", \"text\", \"time\"} from standard input, each acknowledged when it is "
          "safe.");
  if (!a.parse(args)) return 0;
  need(db, "add", "--db");
  if (!(gap > 0)) throw UsageError("quern memory add: --gap takes minutes above 0");
  Memory m(db, {.create = true,
                .durable = durable,
                .conversation = conversation,
                .zone = zone,
                .gap = static_cast<int64_t>(gap * 60)});
  auto tell = [&](const StoredTurn& s) {
    if (json)
      fmt::print("{{\"response\":{},\"session\":{}}}\n", s.response, s.session);
    else
      fmt::print("response {} of session {}\n", s.response, s.session);
    std::fflush(stdout);
  };
  auto turn = [&](std::string who, std::string what, const std::string& when, const std::string& where) {
    WrittenTime t{0};
    if (when.empty())
      t.local = seconds_now(), t.offset = m.zone().offset_at(t.local), t.local += *t.offset;
    else
      t = parse_time_text(when, where);
    tell(m.add(at_time(std::move(who), std::move(what), t, m.zone())));
  };
  if (!text.empty()) {
    need(speaker, "add", "--speaker");
    turn(speaker, text, time, "--time");
    return 0;
  }
  int64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string where = fmt::format("standard input:{}", ++number);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const Json j = Json::parse(line, where);
    const Json* when = j.find("time");
    const Json* who = j.find("speaker");
    if (!who && speaker.empty()) fail("{}: no \"speaker\", and no --speaker", where);
    turn(who ? who->as_string(where) : speaker, j.at("text", where).as_string(where),
         when ? when->as_string(where) : time, where);
  }
  return 0;
}

int import(Words args) {
  std::string db, file, format = "jsonl", conversation, zone = "UTC";
  double gap = kUsualGap / 60.0;
  bool json = false;
  Args a("memory import", "a file of turns becomes a conversation");
  a.positional("FILE", file)
      .flag("--db", db, "the memory's file; made when it is not there")
      .flag("--format", format, "jsonl: lines {\"speaker\", \"text\", \"time\"}; tmd: the TemporalMemoryDataset's")
      .flag("--conversation", conversation, "its name; else the file's")
      .flag("--zone", zone, "of times without an offset")
      .flag("--gap", gap, "minutes of silence that begin a new session")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  need(db, "import", "--db");
  if (format != "jsonl" && format != "tmd")
    throw UsageError(fmt::format("quern memory import: --format '{}', expected jsonl or tmd", format));
  if (!(gap > 0)) throw UsageError("quern memory import: --gap takes minutes above 0");
  if (conversation.empty()) conversation = std::filesystem::path(file).stem().string();
  const Zone z = Zone::load(zone);
  const std::vector<SpokenTurn> turns = format == "tmd" ? read_tmd(file, z) : read_turns(file, z);
  Memory m(db, {.create = true,
                .durable = true,
                .conversation = conversation,
                .zone = zone,
                .gap = static_cast<int64_t>(gap * 60)});
  if (m.table().size() > 0)
    fail("{} holds a conversation '{}' already; --conversation gives another name", db, conversation);
  const std::vector<StoredTurn> stored = m.add_all(turns);
  if (stored.size() >= static_cast<size_t>(m.store().topic_segment_turns())) m.index_topics();
  const int32_t sessions = stored.empty() ? 0 : stored.back().session;
  if (json) {
    Json j = Json::object();
    j.set("conversation", conversation), j.set("turns", static_cast<int64_t>(stored.size())),
        j.set("sessions", int64_t{sessions});
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{}: {} turns in {} sessions, as '{}'\n", file, stored.size(), sessions, conversation);
  }
  return 0;
}

int ask(Words args, bool plan_only) {
  std::string db, conversation, question, now, context, batch, semantics = "strict", asker, rank = "auto";
  int64_t k = 10;
  bool json = false, day_first = false, all_speakers = false;
  Args a(plan_only ? "memory plan" : "memory ask",
         plan_only ? "what a question means: the chain over the table and its SQL" : "find what was said");
  a.positional("QUESTION", question, false)
      .flag("--db", db, "the memory's file")
      .flag("--conversation", conversation, "its name, when there are several")
      .flag("--now", now, "when the question is asked, like \"2023-05-08 13:56\"; else the machine's clock")
      .flag("--context", context, "JSON file [{\"speaker\", \"text\"}, …]: what was said before the question")
      .flag("-k", k, "how many turns a topic may give")
      .flag("--as", asker, "who asks: the speaker that \"I\" means")
      .flag("--semantics", semantics, "strict: the calendar's; tmd: as the TemporalMemoryDataset is labelled")
      .flag("--day-first", day_first, "5/8 is the fifth of August")
      .flag("--all-speakers", all_speakers, "naming one speaker does not leave the others out")
      .flag("--rank", rank, "of a topic's turns: bm25, mixpr, both; auto: mixpr where a time or a speaker leaves few")
      .flag("--batch", batch, "JSON lines {\"now\", \"context\", \"question\"}, an answer a line")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  const char* verb = plan_only ? "plan" : "ask";
  need(db, verb, "--db");
  if (batch.empty() == question.empty())
    throw UsageError(fmt::format("quern memory {}: give a QUESTION or --batch FILE", verb));
  if (k < 1) throw UsageError(fmt::format("quern memory {}: -k {}, expected 1 or more", verb, k));
  Memory m(db, {.create = false, .durable = false, .conversation = conversation, .zone = "", .gap = kUsualGap});
  AskOptions o;
  o.semantics = parse_semantics(semantics), o.order.month_first = !day_first, o.k = k, o.asker = asker,
  o.speaker_filter = !all_speakers, o.rank = parse_rank(rank);
  if (!batch.empty()) {
    std::ifstream f(batch, std::ios::binary);
    if (!f) fail("cannot open {}", batch);
    int64_t number = 0;
    for (std::string line; std::getline(f, line);) {
      const std::string where = fmt::format("{}:{}", batch, ++number);
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      const Json j = Json::parse(line, where);
      const Json* when = j.find("now");
      const Json* before = j.find("context");
      o.now = parse_now(when ? when->as_string(where + ": now") : now, m.zone());
      o.context = before && !before->is_null() ? parse_context(*before, where) : std::vector<ContextTurn>{};
      fmt::print("{}\n", m.ask(j.at("question", where).as_string(where), o).json(m.info().id).dump());
    }
    return 0;
  }
  o.now = parse_now(now, m.zone());
  if (!context.empty()) o.context = parse_context(Json::read(context), context);
  const Answer answer = m.ask(question, o);
  if (plan_only) {
    Json j = answer.json(m.info().id);
    if (json) {
      fmt::print("{}\n", j.at("plan").dump());
      return 0;
    }
    fmt::print("{}\n{}\nroute: {}\n", answer.plan.text(), answer.plan.sql(m.info().id), route_name(answer.route));
    if (!answer.topic.empty()) fmt::print("topic: {}\n", answer.topic);
    for (const std::string& n : answer.notes) fmt::print("note: {}\n", n);
    return 0;
  }
  if (json) {
    fmt::print("{}\n", answer.json(m.info().id).dump());
    return 0;
  }
  for (const std::string& n : answer.notes) fmt::print(stderr, "note: {}\n", n);
  const TurnTable& t = m.table();
  for (const int32_t r : answer.responses) {
    const size_t row =
        static_cast<size_t>(std::lower_bound(t.response.begin(), t.response.end(), r) - t.response.begin());
    fmt::print("{:>6}  {}  session {:<4} {}: {}\n", r, time_text(t.local(row)).substr(0, 16), t.session[row],
               m.speakers()[static_cast<size_t>(t.speaker[row])], m.text(r));
  }
  return 0;
}

int sessions(Words args) {
  std::string db, conversation;
  bool json = false;
  Args a("memory sessions", "the conversations of a memory, or the sessions of one");
  a.flag("--db", db, "the memory's file")
      .flag("--conversation", conversation, "its name")
      .flag("--json", json, "JSON");
  if (!a.parse(args)) return 0;
  need(db, "sessions", "--db");
  ConversationStore store(db, {});
  const std::vector<ConversationInfo> all = store.conversations();
  if (conversation.empty() && all.size() != 1) {
    Json list = Json::array();
    for (const ConversationInfo& c : all) {
      Json j = Json::object();
      j.set("conversation", c.name), j.set("zone", c.zone), j.set("gap_seconds", c.gap), j.set("turns", c.turns),
          j.set("sessions", c.sessions);
      if (!json) fmt::print("{:<24} {:>8} turns {:>6} sessions  {}\n", c.name, c.turns, c.sessions, c.zone);
      list.push(std::move(j));
    }
    if (json) fmt::print("{}\n", list.dump());
    return 0;
  }
  Memory m(db, {.create = false, .durable = false, .conversation = conversation, .zone = "", .gap = kUsualGap});
  const TurnTable& t = m.table();
  Json list = Json::array();
  for (size_t i = 0, end = 0; i < t.size(); i = end) {
    while (end < t.size() && t.session[end] == t.session[i]) ++end;
    Json j = Json::object();
    j.set("session", int64_t{t.session[i]}), j.set("begin", time_text(t.local(i))),
        j.set("end", time_text(t.local(end - 1)));
    j.set("first_response", int64_t{t.response[i]}), j.set("last_response", int64_t{t.response[end - 1]}),
        j.set("turns", static_cast<int64_t>(end - i));
    if (!json)
      fmt::print("{:>6}  {} … {}  responses {}–{}\n", t.session[i], time_text(t.local(i)),
                 clock_text(second_part(t.local(end - 1))), t.response[i], t.response[end - 1]);
    list.push(std::move(j));
  }
  if (json) fmt::print("{}\n", list.dump());
  return 0;
}

int export_turns(Words args) {
  std::string db, conversation;
  Args a("memory export", "every turn as a JSON line, as `import` reads them");
  a.flag("--db", db, "the memory's file").flag("--conversation", conversation, "its name, when there are several");
  if (!a.parse(args)) return 0;
  need(db, "export", "--db");
  Memory m(db, {.create = false, .durable = false, .conversation = conversation, .zone = "", .gap = kUsualGap});
  const TurnTable& t = m.table();
  size_t row = 0;
  m.store().each_turn(m.info().id, 0, INT32_MAX, [&](int64_t, std::string_view text) {
    const int32_t o = std::abs(t.offset[row]);
    Json j = Json::object();
    j.set("speaker", m.speakers()[static_cast<size_t>(t.speaker[row])]), j.set("text", text);
    j.set("time", fmt::format("{}{}{:02}:{:02}", time_text(t.local(row)), t.offset[row] < 0 ? '-' : '+', o / 3600,
                              o / 60 % 60));
    j.set("response", int64_t{t.response[row]}), j.set("session", int64_t{t.session[row]});
    fmt::print("{}\n", j.dump());
    ++row;
  });
  return 0;
}

int forget(Words args) {
  std::string db, conversation;
  std::optional<int64_t> session, response;
  std::string before;
  bool everything = false, json = false;
  Args a("memory forget", "take turns out of a memory for good");
  a.flag("--db", db, "the memory's file")
      .flag("--conversation", conversation, "its name, when there are several")
      .flag("--session", session, "all turns of this session")
      .flag("--response", response, "the turn of this number")
      .flag("--before", before, "all turns before this time")
      .flag("--everything", everything, "the conversation and its name")
      .flag("--json", json, "one JSON object")
      .note("The bytes are overwritten and the file is rewritten without them; numbers of what stays do not change.");
  if (!a.parse(args)) return 0;
  need(db, "forget", "--db");
  if (int{session.has_value()} + int{response.has_value()} + int{!before.empty()} + int{everything} != 1)
    throw UsageError("quern memory forget: give one of --session, --response, --before, --everything");
  Memory m(db, {.create = false, .durable = true, .conversation = conversation, .zone = "", .gap = kUsualGap});
  int64_t gone = 0;
  if (everything) {
    gone = m.store().forget_conversation(m.info().id);
  } else {
    const TurnTable& t = m.table();
    std::vector<int32_t> which;
    const LocalSeconds end = before.empty() ? 0 : parse_now(before, m.zone());
    for (size_t r = 0; r < t.size(); ++r)
      if ((session && t.session[r] == *session) || (response && t.response[r] == *response) ||
          (!before.empty() && t.local(r) < end))
        which.push_back(t.response[r]);
    if (which.empty()) fail("{}: no turn is meant", db);
    gone = m.forget(which);
  }
  if (json)
    fmt::print("{{\"forgotten\":{}}}\n", gone);
  else
    fmt::print("{} turns forgotten\n", gone);
  return 0;
}

int eval(Words args) {
  std::string dir, semantics = "strict", rank = "auto";
  int64_t failures = 0, resamples = 1000;
  bool json = false, all_speakers = false;
  Args a("memory eval", "the TemporalMemoryDataset's questions: recall, precision and F2");
  a.positional("DIR", dir, false)
      .flag("--semantics", semantics, "strict or tmd")
      .flag("--failures", failures, "list so many questions of each type that were not answered in full")
      .flag("--resamples", resamples, "for the 95 % intervals")
      .flag("--all-speakers", all_speakers, "naming one speaker does not leave the others out")
      .flag("--rank", rank, "of a topic's turns: bm25, mixpr, both; auto: mixpr where a time or a speaker leaves few")
      .flag("--json", json, "one JSON object")
      .note(
          "DIR holds conversations/, time_qs/, ambiguous_time_qs/ and content_time_qs/; else QUERN_TEMPORAL_MEMORY "
          "names it.");
  if (!a.parse(args)) return 0;
  if (const char* named = std::getenv("QUERN_TEMPORAL_MEMORY"); dir.empty() && named) dir = named;
  if (dir.empty()) throw UsageError("quern memory eval: give DIR, or name it in QUERN_TEMPORAL_MEMORY");
  if (resamples < 1 || failures < 0)
    throw UsageError("quern memory eval: --resamples takes 1 or more, --failures 0 or more");
  EvalOptions o;
  o.semantics = parse_semantics(semantics), o.resamples = resamples, o.failures = failures,
  o.speaker_filter = !all_speakers, o.rank = parse_rank(rank);
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal) o.progress = [](const std::string& what) { fmt::print(stderr, "\r\x1b[K{}", what); };
  const Json j = evaluate_memory(dir, o);
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  if (json) {
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  auto row = [](const std::string& name, const Json& s) {
    fmt::print("{:<24} recall {:6.2f}  precision {:6.2f}  F2 {:6.2f}  [{:.2f}, {:.2f}]\n", name,
               s.at("recall").as_double(), s.at("precision").as_double(), s.at("f2").as_double(),
               s.at("f2_interval").as_array()[0].as_double(), s.at("f2_interval").as_array()[1].as_double());
  };
  for (const char* set : {"time", "ambiguous"}) {
    for (const auto& [name, s] : j.at(set).at("tests").as_object()) row(fmt::format("{} {}", set, name), s);
    row(set, j.at(set));
  }
  for (const auto& [k, s] : j.at("time_content").as_object()) row("time_content " + k, s);
  return 0;
}

int speed(Words args) {
  std::string folder;
  SpeedOptions o;
  bool json = false;
  Args a("memory speed", "what reading questions, adding turns and holding them costs here");
  a.positional("DIR", folder, false)
      .flag("--turns", o.turns, "made up and added before measuring")
      .flag("--appends", o.appends, "measured one by one")
      .flag("--json", json, "one JSON object")
      .note("DIR gets a file memory.db, which stays; without DIR a scratch folder is used and taken away.");
  if (!a.parse(args)) return 0;
  if (o.turns < 1 || o.appends < 1) throw UsageError("quern memory speed: --turns and --appends take 1 or more");
  if (!folder.empty()) {
    fmt::print("{}\n", measure_speed(folder, o).dump(json ? -1 : 2));
    return 0;
  }
  std::string scratch = (std::filesystem::temp_directory_path() / "quern-memory-XXXXXX").string();
  if (!mkdtemp(scratch.data())) fail("cannot make a folder in {}", std::filesystem::temp_directory_path().string());
  const Json j = measure_speed(scratch, o);
  std::filesystem::remove_all(scratch);
  fmt::print("{}\n", j.dump(json ? -1 : 2));
  return 0;
}

constexpr MenuItem kItems[] = {
    {"add", "--db DB", "keep a turn", add},
    {"import", "FILE --db DB", "keep a whole conversation", import},
    {"ask", "QUESTION --db DB", "the turns that answer it", [](Words w) { return ask(w, false); }},
    {"plan", "QUESTION", "how it is understood, and as SQL", [](Words w) { return ask(w, true); }},
    {"sessions", "--db DB", "when there was talk", sessions},
    {"export", "--db DB", "every turn as JSON lines", export_turns},
    {"forget", "--db DB", "delete for good", forget},
    {"eval", "DIR", "recall, precision and F2 on questions with known answers", eval},
    {"speed", "", "what a question and a turn cost", speed},
};

}  // namespace

int cmd_memory(Words args) { return choose("memory", "conversations that know when things were said", kItems, args); }

}  // namespace quern

// quern memory add | import | ask | plan | sessions | export | forget | eval | speed: long-term conversation memory
// with temporal queries.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/recall/memory_flags.h"
#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/nearest.h"
#include "quern/memory/ask/eval.h"
#include "quern/memory/ask/memory.h"
#include "quern/memory/ask/speed.h"
#include "quern/memory/ask/turn_lines.h"
#include "quern/memory/service/turns.h"
#include "quern/memory/store/import.h"

namespace quern::cli {
namespace {

using namespace memory;

void need(const std::string& value, const char* verb, const char* flag) {
  if (value.empty()) throw UsageError(fmt::format("quern memory {}: {} is missing", verb, flag));
}

std::string counted(int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

Semantics parse_semantics(const std::string& s) {
  if (s == "strict") return Semantics::strict;
  if (s == "tmd") return Semantics::tmd;
  throw UsageError(fmt::format("quern memory: --semantics '{}': expected strict or tmd", s));
}

TopicRank parse_rank(const std::string& name) {
  try {
    return topic_rank(name);
  } catch (const Error& e) {
    throw UsageError(fmt::format("--rank: {}", e.what()));
  }
}

// On the conversation's wall; the machine's clock when nothing is given.
void set_now(AskOptions& o, const std::string& text, const Zone& zone) {
  const WallTime now = wall_time(text.empty() ? std::nullopt : std::optional(text), "--now", zone);
  o.now = now.local, o.offset = now.offset;
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

// Of a conversation that is there, what was not given stays as it is.
int64_t given_gap(const NewConversation& fresh, const GivenSettings<NewConversation>& given) {
  return given.has("gap") ? static_cast<int64_t>(fresh.gap * 60) : 0;
}

int add(Words args) {
  MemoryFlags in;
  NewConversation fresh;
  GivenSettings<NewConversation> given;
  std::string speaker, text, time;
  bool durable = false, json = false;
  Args a("memory add", "store one turn, or one per line of standard input");
  a.optional_positional("TEXT", text)
      .settings(in, {{"db"}, {"conversation", "main for the first, else the only one"}, {"user"}})
      .flag("--speaker NAME", speaker, "speaker of the turn")
      .flag("--time TIME", time, "time of the turn, for example \"2023-05-08 13:56\", with or without +02:00 [now]")
      .settings(fresh, given)
      .flag("--durable", durable, "wait until the turn is on disk (fsync)")
      .json(json, "one JSON object per turn")
      .note("Without TEXT, reads JSON lines {\"speaker\", \"text\", \"time\"} from stdin and acknowledges each one.");
  if (!a.parse(args)) return 0;
  need(in.db, "add", "--db");
  given.overlay(fresh);
  if (!(fresh.gap > 0)) throw UsageError("quern memory add: --gap: expected minutes above 0");
  Memory m(in.db, {.create = true,
                   .durable = durable,
                   .conversation = in.conversation,
                   .user = in.user,
                   .zone = given.has("zone") ? fresh.zone : "",
                   .gap = given_gap(fresh, given)});
  auto tell = [&](const AddedTurn& added) {
    const StoredTurn& s = added.stored;
    for (const std::string& n : added.notes) fmt::print(stderr, "note: response {}: {}\n", s.response, n);
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
    tell(add_turns(m, {at_time(std::move(who), std::move(what), t, m.zone())}, seconds_now())[0]);
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
    if (!who && speaker.empty()) fail("{}: \"speaker\" is missing: add the field, or give --speaker", where);
    turn(who ? who->as_string(where) : speaker, j.at("text", where).as_string(where),
         when ? when->as_string(where) : time, where);
  }
  return 0;
}

void import_one(const ImportedConversation& one, const MemoryFlags& in, const MemoryOptions& fresh,
                const std::string& file, bool append, bool json) {
  const std::string name = !in.conversation.empty() ? in.conversation
                           : !one.name.empty()      ? one.name
                                                    : std::filesystem::path(file).stem().string();
  Memory m(in.db, {.create = true,
                   .durable = true,
                   .conversation = name,
                   .user = in.user.empty() ? one.user : in.user,
                   .zone = one.zone.empty() ? fresh.zone : one.zone,
                   .gap = fresh.gap});
  if (m.table().size() > 0 && !append)
    fail("{} already holds a conversation '{}'; name another one with --conversation, or add to it with --append",
         in.db, name);
  const std::vector<StoredTurn> stored = m.add_all(one.turns);
  if (m.table().size() >= static_cast<size_t>(m.store().topic_segment_turns())) m.index_topics();
  std::set<int32_t> sessions;
  for (const StoredTurn& s : stored) sessions.insert(s.session);
  if (json) {
    Json j = Json::object();
    j.set("conversation", name), j.set("turns", static_cast<int64_t>(stored.size())),
        j.set("sessions", static_cast<int64_t>(sessions.size()));
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{}: {} in {}, as '{}'\n", file, counted(static_cast<int64_t>(stored.size()), "turn"),
               counted(static_cast<int64_t>(sessions.size()), "session"), name);
  }
}

int import(Words args) {
  MemoryFlags in;
  NewConversation fresh;
  GivenSettings<NewConversation> given;
  std::string file, format = "jsonl";
  bool append = false, json = false;
  Args a("memory import", "import a file of turns as a conversation, or as those that its lines name");
  a.positional("FILE", file)
      .settings(in, {{"db"}, {"conversation", "as the lines name it, else the name of the file"}, {"user"}})
      .flag("--format NAME", format,
            "input format: jsonl (lines {\"speaker\", \"text\", \"time\"}) or tmd (TemporalMemoryDataset)")
      .flag("--append", append, "add to a conversation that is there; turns stand where their time belongs")
      .settings(fresh, given)
      .json(json);
  if (!a.parse(args)) return 0;
  need(in.db, "import", "--db");
  given.overlay(fresh);
  if (format != "jsonl" && format != "tmd")
    throw UsageError(fmt::format("quern memory import: --format '{}': expected jsonl or tmd", format));
  if (!(fresh.gap > 0)) throw UsageError("quern memory import: --gap: expected minutes above 0");
  if (!given.has("zone") &&
      std::filesystem::exists(in.db)) {  // times without an offset are of the conversation's wall
    const std::string name = in.conversation.empty() ? std::filesystem::path(file).stem().string() : in.conversation;
    if (const auto there = ConversationStore(in.db, {}).look_up(name, in.user)) fresh.zone = there->zone;
  }
  std::vector<ImportedConversation> all;
  if (format == "tmd")
    all.push_back({"", "", "", read_tmd(file, Zone::load(fresh.zone))});
  else
    all = read_conversations(file, fresh.zone);
  if (all.empty()) all.emplace_back();
  if (all.size() > 1 && !in.conversation.empty())
    fail("{} holds {} conversations: leave out --conversation, and each is imported under its own name", file,
         all.size());
  const MemoryOptions of_new{.zone = given.has("zone") ? fresh.zone : "", .gap = given_gap(fresh, given)};
  for (const ImportedConversation& one : all) import_one(one, in, of_new, file, append, json);
  return 0;
}

// Who asks under a name that no speaker has is told so, whatever the question is.
void note_stranger(Memory& m, const std::string& asker) {
  const std::vector<std::string>& there = m.speakers();
  if (asker.empty() || std::find(there.begin(), there.end(), asker) != there.end()) return;
  fmt::print(stderr, "note: --as {}: no speaker of '{}' has this name{}\n", asker, m.info().name,
             did_you_mean(asker, there));
}

int ask(Words args, bool plan_only) {
  MemoryFlags in;
  QuestionFlags read;
  std::string question, now, context, batch, asker;
  AskOptions o;
  bool json = false, day_first = false;
  Args a(plan_only ? "memory plan" : "memory ask", plan_only
                                                       ? "print the query plan of a question, as a chain and as SQL"
                                                       : "find the turns that answer a question");
  a.optional_positional("QUESTION", question)
      .settings(in)
      .flag("--now TIME", now, "time of the question, for example \"2023-05-08 13:56\" [the system clock]")
      .flag("--history FILE", context, "JSON list of {\"speaker\", \"text\"}: the turns before the question")
      .alias("--context")
      .flag("-k N", o.k, "maximum number of turns ranked by topic")
      .flag("--as NAME", asker, "speaker who asks: the one that \"I\" refers to")
      .settings(read)
      .flag("--day-first", day_first, "read 5/8 as the fifth of August")
      .flag("--batch FILE", batch, "JSON lines {\"now\", \"context\", \"question\"}: print one JSON result per line")
      .json(json);
  if (!a.parse(args)) return 0;
  const char* verb = plan_only ? "plan" : "ask";
  need(in.db, verb, "--db");
  if (batch.empty() == question.empty())
    throw UsageError(fmt::format("quern memory {}: expected either QUESTION or --batch FILE", verb));
  if (o.k < 1) throw UsageError(fmt::format("quern memory {}: -k {}: expected 1 or more", verb, o.k));
  Memory m(in.db, {.conversation = in.conversation, .user = in.user});
  note_stranger(m, asker);
  o.semantics = parse_semantics(read.semantics), o.order.month_first = !day_first, o.asker = asker,
  o.speaker_filter = !read.all_speakers, o.rank = parse_rank(read.rank);
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
      set_now(o, when ? when->as_string(where + ": now") : now, m.zone());
      o.context = before && !before->is_null() ? parse_context(*before, where) : std::vector<ContextTurn>{};
      fmt::print("{}\n", m.ask(j.at("question", where).as_string(where), o).json(m.info().id).dump());
    }
    return 0;
  }
  set_now(o, now, m.zone());
  if (!context.empty()) o.context = parse_context(Json::read(context), context);
  const MemoryResult answer = m.ask(question, o);
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
  const int status = answer.responses.empty() || answer.unmatched ? 1 : 0;  // as grep: nothing found
  if (json) {
    fmt::print("{}\n", answer.json(m.info().id).dump());
    return status;
  }
  for (const std::string& n : answer.notes) fmt::print(stderr, "note: {}\n", n);
  const TurnTable& t = m.table();
  for (const int32_t r : answer.responses) {
    const size_t row = t.row_of(r).value();
    fmt::print("{:>6}  {}  session {:<4} {}: {}\n", r, time_text(t.local(row)).substr(0, 16), t.session[row],
               m.speakers()[static_cast<size_t>(t.speaker[row])], m.text(r));
  }
  return status;
}

int sessions(Words args) {
  MemoryFlags in;
  bool json = false;
  Args a("memory sessions", "list the conversations, or the sessions of one");
  a.settings(in, {{"db"}, {"conversation", "the only one; of several, their list"}, {"user", "of the list, all"}})
      .json(json, "a JSON list");
  if (!a.parse(args)) return 0;
  need(in.db, "sessions", "--db");
  ConversationStore store(in.db, {});
  std::vector<ConversationInfo> all = store.conversations();
  if (!in.user.empty()) std::erase_if(all, [&](const ConversationInfo& c) { return c.user != in.user; });
  if (in.conversation.empty() && all.size() == 1) in.conversation = all[0].name, in.user = all[0].user;
  if (in.conversation.empty()) {
    Json list = Json::array();
    for (const ConversationInfo& c : all) {
      Json j = Json::object();
      j.set("conversation", c.name), j.set("user", c.user), j.set("zone", c.zone), j.set("gap_seconds", c.gap),
          j.set("turns", c.turns), j.set("sessions", c.sessions);
      if (!json)
        fmt::print("{:<24} {:>14} {:>15}  {}{}\n", c.name, counted(c.turns, "turn"), counted(c.sessions, "session"),
                   c.zone, c.user.empty() ? "" : fmt::format("  user {}", c.user));
      list.push(std::move(j));
    }
    if (json) fmt::print("{}\n", list.dump());
    return 0;
  }
  Memory m(in.db, {.conversation = in.conversation, .user = in.user});
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
  MemoryFlags in;
  Args a("memory export", "print all turns as JSON lines, the format of memory import");
  a.settings(in);
  if (!a.parse(args)) return 0;
  need(in.db, "export", "--db");
  Memory m(in.db, {.conversation = in.conversation, .user = in.user});
  each_turn_line(m, 0, INT32_MAX, [](const Json& turn) { fmt::print("{}\n", turn.dump()); });
  return 0;
}

int forget(Words args) {
  MemoryFlags in;
  std::optional<int64_t> session, response;
  std::string before;
  bool everything = false, json = false;
  Args a("memory forget", "delete turns permanently");
  a.settings(in)
      .flag("--session N", session, "delete all turns of session N")
      .flag("--response N", response, "delete turn N")
      .flag("--before TIME", before, "delete all turns before this time")
      .flag("--everything", everything, "delete the whole conversation")
      .json(json)
      .note("The deleted bytes are overwritten and the file is compacted; the numbers of other turns do not change.");
  if (!a.parse(args)) return 0;
  need(in.db, "forget", "--db");
  if (int{session.has_value()} + int{response.has_value()} + int{!before.empty()} + int{everything} != 1)
    throw UsageError("quern memory forget: expected exactly one of --session, --response, --before and --everything");
  Memory m(in.db, {.durable = true, .conversation = in.conversation, .user = in.user});
  int64_t gone = 0;
  if (everything) {
    gone = m.forget_all();
  } else {
    TurnChoice choice{.response = response, .session = session, .before = {}};
    if (!before.empty()) choice.before = wall_time(before, "--before", m.zone()).utc();
    const std::vector<int32_t> which = chosen_turns(m, choice);
    if (which.empty()) fail("{}: no turn matches --session, --response or --before; nothing was deleted", in.db);
    gone = m.forget(which);
  }
  if (json)
    fmt::print("{{\"forgotten\":{}}}\n", gone);
  else
    fmt::print("deleted {}\n", counted(gone, "turn"));
  return 0;
}

int eval(Words args) {
  std::string dir;
  QuestionFlags read;
  EvalOptions o;
  bool json = false;
  Args a("memory eval", "recall, precision and F2 on the TemporalMemoryDataset");
  a.optional_positional("DIR", dir)
      .settings(read)
      .flag("--failures N", o.failures, "list up to N questions of each type that were not answered completely")
      .flag("--resamples N", o.resamples, "number of bootstrap resamples for the 95 % intervals")
      .json(json)
      .note(
          "DIR is the dataset with conversations/, time_qs/, ambiguous_time_qs/ and content_time_qs/; without DIR, "
          "the\n"
          "variable QUERN_TEMPORAL_MEMORY names it.");
  if (!a.parse(args)) return 0;
  if (const char* named = std::getenv("QUERN_TEMPORAL_MEMORY"); dir.empty() && named) dir = named;
  if (dir.empty()) throw UsageError("quern memory eval: DIR is missing: give it, or set QUERN_TEMPORAL_MEMORY");
  if (o.resamples < 1 || o.failures < 0)
    throw UsageError("quern memory eval: expected --resamples of at least 1 and --failures of at least 0");
  o.semantics = parse_semantics(read.semantics), o.speaker_filter = !read.all_speakers,
  o.rank = parse_rank(read.rank);
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
  Args a("memory speed", "benchmark questions, adding turns and memory use");
  a.optional_positional("DIR", folder)
      .flag("--turns N", o.turns, "number of synthetic turns to add before measuring")
      .flag("--appends N", o.appends, "number of turns to add and time one by one")
      .json(json)
      .note("Writes DIR/memory.db and keeps it; without DIR, uses a temporary folder and deletes it.");
  if (!a.parse(args)) return 0;
  if (o.turns < 1 || o.appends < 1)
    throw UsageError("quern memory speed: expected --turns and --appends of at least 1");
  if (!folder.empty()) {
    fmt::print("{}\n", measure_speed(folder, o).dump(json ? -1 : 2));
    return 0;
  }
  std::string scratch = (std::filesystem::temp_directory_path() / "quern-memory-XXXXXX").string();
  if (!mkdtemp(scratch.data())) fail("cannot create a folder in {}", std::filesystem::temp_directory_path().string());
  const Json j = measure_speed(scratch, o);
  std::filesystem::remove_all(scratch);
  fmt::print("{}\n", j.dump(json ? -1 : 2));
  return 0;
}

constexpr MenuItem kItems[] = {
    {"add", "[TEXT] --db FILE", "store one turn, or one per line of standard input", add},
    {"import", "FILE --db FILE", "import a file of turns as a conversation", import},
    {"ask", "QUESTION --db FILE", "find the turns that answer a question", [](Words w) { return ask(w, false); }},
    {"plan", "QUESTION --db FILE", "print the query plan of a question, as a chain and as SQL",
     [](Words w) { return ask(w, true); }},
    {"sessions", "--db FILE", "list the conversations, or the sessions of one", sessions},
    {"export", "--db FILE", "print all turns as JSON lines", export_turns},
    {"forget", "--db FILE", "delete turns permanently", forget},
    {"eval", "DIR", "recall, precision and F2 on the TemporalMemoryDataset", eval},
    {"speed", "[DIR]", "benchmark questions, adding turns and memory use", speed},
};

}  // namespace

int cmd_memory(Words args) {
  return choose("memory", "long-term conversation memory with temporal queries", kItems, args);
}

}  // namespace quern::cli

#include "quern/memory/ask/speed.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/memory/ask/memory.h"

namespace quern::memory {
namespace {

constexpr const char* kQuestions[] = {
    "What did we chat about between May 8th and June 9th?",
    "What did Caroline say about her painting in our third session?",
    "Remind me what came up the second time we talked last week, please.",
    "What activity did you mention you had taken up two months ago, as discussed on July 3rd, 2023?",
    "Could you summarise the conversations we had over the last three days?",
    "What did we discuss twenty-one sessions ago?",
    "Who was it that wanted to adopt a dog from the shelter near the station?",
    "What was said on the evening of the 14th of February, before the long break?"};

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double at(std::vector<double> v, double q) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<size_t>(q * static_cast<double>(v.size())))];
}

int64_t resident_of_process() {
  std::ifstream f("/proc/self/statm");
  int64_t total = 0, resident = 0;
  f >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

struct KindAsked {
  const char* name;
  std::string question;
};

// With the log, in which the newest turns lie.
int64_t bytes_of(const std::filesystem::path& file) {
  std::filesystem::path log = file;
  log += "-wal";
  return static_cast<int64_t>(std::filesystem::file_size(file) +
                              (std::filesystem::exists(log) ? std::filesystem::file_size(log) : 0));
}

class TurnMaker {
 public:
  SpokenTurn next() {
    SpokenTurn t{n_ % 2 ? "Ada" : "Bo", "", 0, 0};
    time_ += n_ % 25 == 0 ? 7200 : 20;
    t.utc = time_;
    const uint64_t words = 12 + rng_.below(49);
    for (uint64_t w = 0; w < words; ++w) {
      // rank ≈ exp(u · ln V): frequencies fall as 1 / rank
      if (w) t.text += ' ';
      t.text += word(static_cast<int64_t>(std::exp(rng_.uniform() * std::log(60'000.0))));
    }
    words_ += static_cast<int64_t>(words), ++n_;
    return t;
  }
  static std::string word(int64_t rank) {
    std::string out;
    for (int64_t r = rank; r > 0; r /= 21) {
      out += "bcdfghjklmnpqrstvwxyz"[r % 21];
      out += "aeiou"[r % 5];
    }
    return out;
  }
  int64_t words() const { return words_; }
  int64_t time() const { return time_; }

 private:
  Rng rng_{17};
  int64_t n_ = 0, words_ = 0, time_ = 1'600'000'000;
};

void measure_parsing(int64_t parses, Json& out) {
  const Clock clock{.now = day_of(2023, 10, 22) * kDaySeconds + 43'200, .semantics = Semantics::strict, .order = {}};
  std::vector<double> parse;
  size_t found = 0;
  for (int64_t i = 0; i < parses; ++i) {
    const char* q = kQuestions[static_cast<size_t>(i) % std::size(kQuestions)];
    parse.push_back(1e6 * seconds_of([&] { found += parse_time(q, clock).constraints.size(); }));
  }
  QUERN_CHECK(parses < 100 || found > 0);
  out.set("parse_us_median", at(parse, 0.5)), out.set("parse_us_p99", at(parse, 0.99));
}

std::vector<KindAsked> kinds_asked() {
  // One word is in about one of a hundred turns, the other in about one of a thousand.
  const std::string topic = fmt::format("the {} and the {}", TurnMaker::word(300), TurnMaker::word(3000));
  return {{"session", "What did we discuss two sessions ago?"},
          {"day", "What did we discuss yesterday?"},
          {"weekday_and_hour", "What did we discuss on Sunday mornings?"},
          {"topic", "What about " + topic + "?"},
          {"speaker_and_topic", "What did Ada say about " + topic + "?"},
          {"speaker_topic_and_day", "What did Ada say about " + topic + " yesterday?"},
          {"speaker_topic_and_month", "What did Ada say about " + topic + " in the last month?"},
          // English words are in no turn, and so are all their neighbors
          {"miss", "What did Ada say about the river in the last month?"},
          {"how_often", "How often did we talk about the " + TurnMaker::word(300) + "?"},
          {"how_often_in_a_month", "How often did Ada mention " + topic + " in the last month?"},
          {"first", "When did we first talk about " + topic + "?"}};
}

}  // namespace

Json measure_speed(const std::filesystem::path& folder, const SpeedOptions& o) {
  Json out = Json::object();
  measure_parsing(o.parses, out);
  const int64_t before = resident_of_process();
  const std::filesystem::path file = folder / "memory.db";
  if (std::filesystem::exists(file)) fail("{} already exists", file.string());
  std::filesystem::create_directories(folder);
  Memory m(file, {.create = true, .durable = false, .conversation = "speed", .zone = "UTC", .gap = kUsualGap});
  TurnMaker maker;
  std::vector<SpokenTurn> batch;
  out.set("fill_seconds", seconds_of([&] {
            for (int64_t i = 0; i < o.turns; ++i) {
              batch.push_back(maker.next());
              if (batch.size() == 5000 || i + 1 == o.turns) m.add_all(batch), batch.clear();
            }
          }));
  batch.shrink_to_fit();
  const std::vector<KindAsked> kinds = kinds_asked();
  const std::string& about = kinds[3].question;
  AskOptions ask;
  ask.now = maker.time() + 3000;
  MemoryResult first;
  out.set("load_and_index_seconds", seconds_of([&] { first = m.ask(about, ask); }));
  out.set("reopened_and_asked_seconds", seconds_of([&] {  // as a new process does it
            Memory again(file,
                         {.create = false, .durable = false, .conversation = "speed", .zone = "", .gap = kUsualGap});
            const MemoryResult a = again.ask(about, ask);
            QUERN_CHECK(a.responses == first.responses);
          }));
  std::vector<double> append, busy, control, visible;
  std::vector<std::vector<double>> asked(kinds.size());
  for (int64_t i = 0; i < o.appends; ++i) {
    SpokenTurn t = maker.next();
    const std::string mark = fmt::format("marker{}", i);
    t.text += " " + mark;
    StoredTurn s;
    const double begun = thread_seconds();
    append.push_back(1e3 * seconds_of([&] { s = m.add(t); }));
    busy.push_back(1e3 * (thread_seconds() - begun));
    control.push_back(1e3 * seconds_of([&] {  // as much work as an append and no store: what the machine does to it
                        const double until = thread_seconds() + 5e-5;
                        while (thread_seconds() < until) {
                        }
                      }));
    if (i % 20) continue;
    ask.now = t.utc + 60;
    MemoryResult a;
    visible.push_back(append.back() + 1e3 * seconds_of([&] { a = m.ask("What about " + mark + "?", ask); }));
    QUERN_CHECK(!a.responses.empty() && a.responses[0] == s.response, "turn {} was not found", i);
    for (size_t k = 0; k < kinds.size(); ++k)
      asked[k].push_back(1e3 * seconds_of([&] { a = m.ask(kinds[k].question, ask); }));
  }
  out.set("turns", o.turns + o.appends), out.set("words", maker.words());
  out.set("append_ms_median", at(append, 0.5)), out.set("append_ms_p99", at(append, 0.99)),
      out.set("append_ms_max", at(append, 1));
  out.set("append_cpu_ms_p99", at(busy, 0.99));  // without what other processes took
  out.set("control_50us_ms_p99", at(control, 0.99));
  out.set("append_and_find_ms_median", at(visible, 0.5));
  Json questions = Json::object();
  for (size_t k = 0; k < kinds.size(); ++k) {
    Json one = Json::object();
    one.set("question", kinds[k].question), one.set("ms_median", at(asked[k], 0.5));
    one.set("ms_p99", at(asked[k], 0.99)), one.set("times", static_cast<int64_t>(asked[k].size()));
    questions.set(kinds[k].name, std::move(one));
  }
  out.set("questions", std::move(questions));
  out.set("resident_bytes", static_cast<int64_t>(m.resident_bytes()));
  out.set("process_resident_bytes", resident_of_process() - before);
  out.set("file_bytes", bytes_of(file));
  return out;
}

}  // namespace quern::memory

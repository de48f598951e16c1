#include "quern/memory/ask/eval.h"

#include <algorithm>
#include <map>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/memory/store/import.h"

namespace quern::memory {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kAskedLater = 50 * 60;  // the data set asks 50 minutes after the last turn
constexpr int64_t kDepths[] = {1, 3, 5, 10};

struct Item {  // one question in all its wordings: means
  Scores s;
  int64_t wordings = 0;
};
using Items = std::vector<Item>;

fs::path folder(const fs::path& dir, std::initializer_list<const char*> names) {
  for (const char* n : names)
    if (fs::is_directory(dir / n)) return dir / n;
  fail("{}: expected a folder {} in it", dir.string(), *names.begin());
}

Scores mean_over(const Items& items, const std::vector<size_t>* drawn = nullptr) {
  Scores sum;
  double n = 0;
  auto add = [&](const Item& i) {
    const double w = static_cast<double>(i.wordings);
    sum.recall += w * i.s.recall, sum.precision += w * i.s.precision, sum.f2 += w * i.s.f2, n += w;
  };
  if (drawn)
    for (const size_t i : *drawn) add(items[i]);
  else
    for (const Item& i : items) add(i);
  if (n > 0) sum.recall /= n, sum.precision /= n, sum.f2 /= n;
  return sum;
}

// Means of several types, each resampled by itself: 2.5 and 97.5 per cent.
std::pair<Scores, Scores> interval(const std::vector<const Items*>& types, int64_t resamples) {
  const Rng rng(20240604);
  std::vector<double> recall, precision, f2;
  uint64_t counter = 0;
  std::vector<size_t> drawn;
  for (int64_t b = 0; b < resamples; ++b) {
    Scores sum;
    for (const Items* items : types) {
      drawn.resize(items->size());
      for (size_t& d : drawn)
        d = static_cast<size_t>((static_cast<unsigned __int128>(rng.bits(counter++)) * items->size()) >> 64);
      const Scores m = mean_over(*items, &drawn);
      const double w = 1.0 / static_cast<double>(types.size());
      sum.recall += w * m.recall, sum.precision += w * m.precision, sum.f2 += w * m.f2;
    }
    recall.push_back(sum.recall), precision.push_back(sum.precision), f2.push_back(sum.f2);
  }
  auto at = [](std::vector<double>& v, double q) {
    if (v.empty()) return 0.0;
    std::sort(v.begin(), v.end());
    return v[std::min(v.size() - 1, static_cast<size_t>(q * static_cast<double>(v.size())))];
  };
  return {{at(recall, 0.025), at(precision, 0.025), at(f2, 0.025)},
          {at(recall, 0.975), at(precision, 0.975), at(f2, 0.975)}};
}

double percent(double x) { return std::round(x * 1e4) / 1e2; }

Json as_json(const Scores& mean, const std::pair<Scores, Scores>& bounds) {
  Json j = Json::object();
  auto put = [&](const char* name, double m, double lo, double hi) {
    j.set(name, percent(m));
    Json b = Json::array();
    b.push(percent(lo)), b.push(percent(hi));
    j.set(std::string(name) + "_interval", std::move(b));
  };
  put("recall", mean.recall, bounds.first.recall, bounds.second.recall);
  put("precision", mean.precision, bounds.first.precision, bounds.second.precision);
  put("f2", mean.f2, bounds.first.f2, bounds.second.f2);
  return j;
}

class MemoryEvaluation {
 public:
  MemoryEvaluation(const fs::path& dir, const EvalOptions& o) : dir_(dir), o_(o) {}

  Json run() {
    const fs::path root = fs::is_directory(dir_ / "TestData") ? dir_ / "TestData" : dir_;
    Json out = Json::object();
    out.set("semantics", o_.semantics == Semantics::strict ? "strict" : "tmd");
    out.set("time", timed(folder(root, {"time_qs"})));
    out.set("ambiguous", timed(folder(root, {"ambiguous_time_qs"})));
    out.set("time_content", content(folder(root, {"content_time_qs"}) / "content_time_qs.json"));
    out.set("questions", asked_), out.set("seconds", seconds_);
    return out;
  }

 private:
  Memory& conversation(int64_t number) {
    std::unique_ptr<Memory>& m = conversations_[number];
    if (!m) {
      const fs::path file = folder(dir_, {"conversations", "ConversationData"}) / fmt::format("{}.json", number);
      m = std::make_unique<Memory>(":memory:", MemoryOptions{.create = true,
                                                             .durable = false,
                                                             .conversation = std::to_string(number),
                                                             .zone = "UTC",
                                                             .gap = kUsualGap});
      m->add_all(read_tmd(file, Zone()));
    }
    return *m;
  }

  MemoryResult ask(Memory& m, const Json& question, int64_t k) {
    AskOptions a;
    a.now = m.last_turn() + kAskedLater, a.semantics = o_.semantics, a.k = k, a.speaker_filter = o_.speaker_filter;
    a.neighbor = o_.neighbor, a.rank = o_.rank;
    std::string text;
    if (question.is_string()) {
      text = question.as_string();
    } else {
      const Json::Array& turns = question.as_array("questions");
      for (const Json& t : turns) a.context.push_back({t.at("speaker").as_string(), t.at("text").as_string()});
      if (a.context.empty()) fail("a question without turns");
      text = a.context.back().text;
      a.context.pop_back();
    }
    last_text_ = text;
    const Stopwatch watch;
    MemoryResult answer = m.ask(text, a);
    seconds_ += watch.seconds();
    ++asked_;
    return answer;
  }

  Items items(const fs::path& file, int64_t k, Json* failures) {
    const Json j = Json::read(file);
    Items out;
    for (const Json& index : j.at("file_indexes", file.string()).as_array("file_indexes")) {
      const std::string key = fmt::format("file_{}", index.as_int("file_indexes"));
      Memory& m = conversation(index.as_int());
      for (const Json& q : j.at(key, file.string()).as_array(key)) {
        std::vector<int32_t> relevant;
        for (const Json& r : q.at("relevant_docs", key).as_array("relevant_docs"))
          relevant.push_back(static_cast<int32_t>(r.as_int("relevant_docs")));
        Item item;
        for (const Json& wording : q.at("questions", key).as_array("questions")) {
          const MemoryResult a = ask(m, wording, k);
          const Scores s = score(a.responses, relevant);
          item.s.recall += s.recall, item.s.precision += s.precision, item.s.f2 += s.f2, ++item.wordings;
          if (failures && s.f2 < 0.999 &&
              static_cast<int64_t>(failures->is_array() ? failures->items().size() : 0) < o_.failures) {
            Json f = Json::object();
            f.set("conversation", index), f.set("question", last_text_), f.set("f2", percent(s.f2));
            f.set("plan", a.plan.text()), f.set("topic", a.topic);
            f.set("expected", fmt::format("{}–{} ({})", relevant.empty() ? -1 : relevant.front(),
                                          relevant.empty() ? -1 : relevant.back(), relevant.size()));
            f.set("found",
                  fmt::format(
                      "{}", fmt::join(std::span(a.responses).first(std::min<size_t>(a.responses.size(), 10)), " ")));
            failures->push(std::move(f));
          }
        }
        const double n = static_cast<double>(std::max<int64_t>(1, item.wordings));
        item.s.recall /= n, item.s.precision /= n, item.s.f2 /= n;
        out.push_back(item);
      }
    }
    if (out.empty()) fail("{}: no questions", file.string());
    return out;
  }

  Json timed(const fs::path& dir) {
    std::vector<fs::path> files;
    for (const auto& e : fs::directory_iterator(dir))
      if (e.path().extension() == ".json") files.push_back(e.path());
    std::sort(files.begin(), files.end());
    if (files.empty()) fail("{}: no test_*.json", dir.string());
    std::vector<Items> types;
    Json tests = Json::object();
    for (const fs::path& f : files) {
      if (o_.progress) o_.progress(f.filename().string());
      Json failures = Json::array();
      types.push_back(items(f, 10, &failures));
      const Items& one = types.back();
      Json t = as_json(mean_over(one), interval({&one}, o_.resamples));
      t.set("items", static_cast<int64_t>(one.size()));
      if (o_.failures > 0) t.set("failures", std::move(failures));
      std::string name = f.stem().string();
      tests.set(name.starts_with("test_") ? name.substr(5) : name, std::move(t));
    }
    Scores mean;
    std::vector<const Items*> all;
    for (const Items& i : types) {
      const Scores m = mean_over(i);
      const double w = 1.0 / static_cast<double>(types.size());
      mean.recall += w * m.recall, mean.precision += w * m.precision, mean.f2 += w * m.f2;
      all.push_back(&i);
    }
    Json out = as_json(mean, interval(all, o_.resamples));
    out.set("tests", std::move(tests));
    return out;
  }

  Json content(const fs::path& file) {
    Json out = Json::object();
    for (const int64_t k : kDepths) {
      if (o_.progress) o_.progress(fmt::format("{} at {}", file.filename().string(), k));
      Json failures = Json::array();
      const Items one = items(file, k, &failures);
      Json t = as_json(mean_over(one), interval({&one}, o_.resamples));
      t.set("items", static_cast<int64_t>(one.size()));
      if (o_.failures > 0) t.set("failures", std::move(failures));
      out.set(fmt::format("k{}", k), std::move(t));
    }
    return out;
  }

  fs::path dir_;
  const EvalOptions& o_;
  std::map<int64_t, std::unique_ptr<Memory>> conversations_;
  std::string last_text_;
  int64_t asked_ = 0;
  double seconds_ = 0;
};

}  // namespace

Scores score(const std::vector<int32_t>& found, const std::vector<int32_t>& relevant) {
  std::vector<int32_t> a = found, b = relevant, both;
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  a.erase(std::unique(a.begin(), a.end()), a.end()), b.erase(std::unique(b.begin(), b.end()), b.end());
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  Scores s;
  if (both.empty()) return s;
  s.recall = static_cast<double>(both.size()) / static_cast<double>(b.size());
  s.precision = static_cast<double>(both.size()) / static_cast<double>(a.size());
  s.f2 = 5 * s.precision * s.recall / (4 * s.precision + s.recall);
  return s;
}

Json evaluate_memory(const std::filesystem::path& dir, const EvalOptions& options) {
  return MemoryEvaluation(dir, options).run();
}

}  // namespace quern::memory

#include "quern/recall/mixpr/tasks.h"
#include "quern/base/stopwatch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace quern::recall {
namespace {

template <class T>
void shuffle(std::vector<T>& v, Rng& rng) {
  for (size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[rng.below(i)]);
}

std::string letters(Rng& rng, int n, bool capitals_only = false) {
  std::string s(static_cast<size_t>(n), ' ');
  for (char& c : s) {
    const uint64_t r = rng.below(capitals_only ? 26 : 52);
    c = static_cast<char>(r < 26 ? 'A' + r : 'a' + r - 26);
  }
  return s;
}

// Lines joined to a text; where line i of `lines` ended up is what `at` says.
void set_lines(RecallTask& t, const std::vector<std::string>& lines) {
  for (const std::string& l : lines) {
    t.chunks.push_back({t.text.size(), t.text.size() + l.size()});
    t.text += l;
    t.text += '\n';
  }
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

constexpr std::array kFillers = {"The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.",
                                 "There and back again."};
constexpr std::array kFunction = {"the", "of",   "and", "in",   "to",  "a",     "was",  "for",
                                  "on",  "with", "by",  "as",   "at",  "from",  "that", "is",
                                  "his", "it",   "an",  "were", "are", "which", "this", "be"};
// Words of the facts stand in other sentences too, about as often as in English prose: the first kind eight times in
// ten thousand words each, the second six times in a hundred thousand.
constexpr std::array kFrequent = {"went",  "journey", "moved", "took",   "got",   "back",
                                  "house", "river",   "water", "people", "years", "city"};
constexpr std::array kSeldom = {"garden",  "kitchen",  "office", "hallway", "bathroom",
                                "bedroom", "football", "milk",   "apple",   "picked"};
constexpr std::array kPeople = {"Mary", "John", "Sandra", "Daniel"};
constexpr std::array kPlaces = {"kitchen", "garden", "hallway", "bathroom", "office", "bedroom"};
constexpr std::array kObjects = {"football", "milk", "apple"};

template <class A>
std::string one_of(const A& list, Rng& rng) {
  return list[rng.below(list.size())];
}

}  // namespace

RecallTask hash_hop_task(int64_t characters, int hops, int64_t questions, uint64_t seed) {
  if (hops < 1 || characters < 1000 || questions < 1) fail("hash-hop: at least 1 hop, 1000 characters, 1 question");
  Rng rng(seed, 1);
  const int64_t a_line = 36, a_chain = hops + 1, chains = std::max<int64_t>(1, characters / a_line / a_chain);
  RecallTask t;
  t.name = fmt::format("hash-hop, {} hops", hops);
  std::vector<std::string> lines;
  std::vector<std::string> first;
  for (int64_t c = 0; c < chains; ++c) {
    std::string from = letters(rng, 16);
    first.push_back(from);
    for (int64_t h = 0; h < a_chain; ++h) {
      std::string to = letters(rng, 16);
      lines.push_back(h + 1 < a_chain ? from + " = " + to : from + " = '" + to + "'");
      from = std::move(to);
    }
  }
  std::vector<uint32_t> order(lines.size()), place(lines.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  shuffle(order, rng);
  std::vector<std::string> shuffled(lines.size());
  for (uint32_t i = 0; i < order.size(); ++i) shuffled[i] = std::move(lines[order[i]]), place[order[i]] = i;
  set_lines(t, shuffled);
  for (int64_t q = 0; q < questions; ++q) {
    const auto c = static_cast<int64_t>(rng.below(static_cast<uint64_t>(chains)));
    RecallQuestion question{first[static_cast<size_t>(c)], {}};
    for (int64_t h = 0; h < a_chain; ++h) question.needed.push_back(place[static_cast<size_t>(c * a_chain + h)]);
    t.questions.push_back(std::move(question));
  }
  t.options.words = {}, t.options.threshold = 0.1f;  // lines that share one hash of two: 0.5
  t.query.k = 10, t.query.epsilon = 1e-12;
  return t;
}

RecallTask variables_task(int64_t characters, int chains, int hops, int64_t questions, uint64_t seed) {
  if (chains < 1 || hops < 1) fail("variables: at least 1 chain and 1 hop");
  Rng rng(seed, 2);
  RecallTask t;
  t.name = fmt::format("variables, {} chains of {} hops", chains, hops);
  const int64_t fillers = std::max<int64_t>(1, characters / 20);
  struct Line {
    uint64_t at;
    int chain, step;
    std::string text;
  };
  std::vector<Line> lines;
  std::vector<std::string> values;
  for (int c = 0; c < chains; ++c) {
    values.push_back(fmt::format("{}", 10000 + rng.below(90000)));
    std::vector<uint64_t> at;
    for (int h = 0; h <= hops; ++h) at.push_back(rng.below(static_cast<uint64_t>(fillers)));
    std::sort(at.begin(), at.end());  // a variable is set before it is used
    std::string before;
    for (int h = 0; h <= hops; ++h) {
      std::string name = letters(rng, 5, true);
      lines.push_back(
          {at[static_cast<size_t>(h)], c, h,
           h == 0 ? fmt::format("VAR {} = {}", name, values.back()) : fmt::format("VAR {} = VAR {} ", name, before)});
      before = std::move(name);
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.at < b.at; });
  std::vector<std::string> all;
  std::vector<std::vector<uint32_t>> needed(static_cast<size_t>(chains));
  size_t next = 0;
  for (int64_t f = 0; f < fillers; ++f) {
    for (; next < lines.size() && lines[next].at == static_cast<uint64_t>(f); ++next) {
      needed[static_cast<size_t>(lines[next].chain)].push_back(static_cast<uint32_t>(all.size()));
      all.push_back(lines[next].text);
    }
    all.emplace_back(kFillers[static_cast<size_t>(f) % kFillers.size()]);
  }
  set_lines(t, all);
  for (int64_t q = 0; q < std::min<int64_t>(questions, chains); ++q)
    t.questions.push_back({fmt::format("Find all variables that are assigned the value {} in the text above.",
                                       values[static_cast<size_t>(q)]),
                           needed[static_cast<size_t>(q)]});
  t.options.words = {}, t.options.threshold = 0.27f;
  t.query.k = 10, t.query.epsilon = 1e-9, t.query.min_joined = 0;
  return t;
}

RecallTask needles_task(int64_t characters, int64_t questions, uint64_t seed) {
  Rng rng(seed, 3);
  RecallTask t;
  t.name = "needles";
  std::vector<std::string> lines = made_up_sentences(characters, seed);
  std::vector<std::pair<uint64_t, std::string>> words;
  for (int64_t q = 0; q < questions; ++q) words.emplace_back(rng.below(lines.size()), letters(rng, 7));
  std::sort(words.begin(), words.end());
  std::vector<std::string> all;
  size_t next = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (; next < words.size() && words[next].first == i; ++next) {
      t.questions.push_back(
          {fmt::format("What is the special magic number for {} mentioned in the text?", words[next].second),
           {static_cast<uint32_t>(all.size())}});
      all.push_back(fmt::format("One of the special magic numbers for {} is: {}.", words[next].second,
                                1000000 + rng.below(9000000)));
    }
    all.push_back(std::move(lines[i]));
  }
  set_lines(t, all);
  t.query.k = 10;
  return t;
}

std::vector<std::string> made_up_sentences(int64_t characters, uint64_t seed) {
  Rng rng(seed, 4);
  std::vector<std::string> words;
  std::set<std::string> known;
  while (words.size() < 20000) {
    static constexpr std::array onsets = {"b", "br", "c",  "d", "f", "g",  "gr", "h",  "l", "m",
                                          "n", "p",  "pl", "r", "s", "st", "t",  "tr", "v", "w"};
    static constexpr std::array vowels = {"a", "e", "i", "o", "u", "ea", "ai", "ou"};
    static constexpr std::array codas = {"", "n", "r", "s", "l", "nt", "ck", "m", "rd", "st"};
    std::string w;
    for (uint64_t s = 1 + rng.below(3); s > 0; --s)
      w += one_of(onsets, rng) + one_of(vowels, rng) + one_of(codas, rng);
    if (known.insert(w).second) words.push_back(std::move(w));
  }
  std::vector<std::string> out;
  for (int64_t n = 0; n < characters;) {
    std::string s;
    for (uint64_t w = 6 + rng.below(20); w > 0; --w) {
      const double kind = rng.uniform();
      // Two fifths function words, the rest by Zipf's law.
      const std::string word = kind < 0.4      ? one_of(kFunction, rng)
                               : kind < 0.41   ? one_of(kFrequent, rng)
                               : kind < 0.4106 ? one_of(kSeldom, rng)
                                               : words[static_cast<size_t>(std::pow(20000.0, rng.uniform())) - 1];
      s += s.empty() ? word : " " + word;
    }
    s[0] = static_cast<char>(s[0] - ('a' - 'A'));
    n += static_cast<int64_t>(s.size()) + 2;
    out.push_back(s + ".");
  }
  return out;
}

RecallTask facts_task(int64_t characters, const std::vector<std::string>& filler, uint64_t seed) {
  Rng rng(seed, 5);
  RecallTask t;
  t.name = "two facts";
  std::vector<std::string> lines;
  if (filler.empty()) {
    lines = made_up_sentences(characters, seed);
  } else {
    int64_t n = 0;
    for (size_t i = rng.below(filler.size()); n < characters; i = (i + 1) % filler.size()) {
      lines.push_back(filler[i]);
      n += static_cast<int64_t>(filler[i].size()) + 1;
    }
  }
  // Facts in order: until everything needed has happened to the object asked for.
  struct Fact {
    std::string text;
    int who, what;  // what: −1 for a move
  };
  std::vector<Fact> facts;
  int asked = 0, holder = -1;
  for (;;) {
    facts.clear();
    std::array<int, 3> held{-1, -1, -1};
    std::array<bool, 4> moved_since{};
    for (int i = 0; i < 12; ++i) {
      const int who = static_cast<int>(rng.below(kPeople.size()));
      static constexpr std::array go = {"went to", "moved to", "journeyed to", "travelled to"};
      static constexpr std::array take = {"picked up", "got", "took", "grabbed"};
      if (rng.below(3) == 0) {
        const int what = static_cast<int>(rng.below(kObjects.size()));
        held[static_cast<size_t>(what)] = who;
        facts.push_back({fmt::format("{} {} the {}.", kPeople[static_cast<size_t>(who)], one_of(take, rng),
                                     kObjects[static_cast<size_t>(what)]),
                         who, what});
      } else {
        moved_since[static_cast<size_t>(who)] = true;
        facts.push_back(
            {fmt::format("{} {} the {}.", kPeople[static_cast<size_t>(who)], one_of(go, rng), one_of(kPlaces, rng)),
             who, -1});
      }
    }
    asked = static_cast<int>(rng.below(kObjects.size()));
    holder = held[static_cast<size_t>(asked)];
    if (holder >= 0 && moved_since[static_cast<size_t>(holder)]) break;
  }
  size_t taken = 0, moved = 0;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].what == asked) taken = i;
    if (facts[i].what < 0 && facts[i].who == holder) moved = i;
  }
  std::vector<uint64_t> at;
  for (size_t i = 0; i < facts.size(); ++i) at.push_back(rng.below(lines.size()));
  std::sort(at.begin(), at.end());
  std::vector<std::string> all;
  RecallQuestion q{fmt::format("Where is the {}?", kObjects[static_cast<size_t>(asked)]), {}};
  size_t next = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    for (; next < facts.size() && at[next] == i; ++next) {
      if (next == taken || next == moved) q.needed.push_back(static_cast<uint32_t>(all.size()));
      all.push_back(facts[next].text);
    }
    all.push_back(std::move(lines[i]));
  }
  set_lines(t, all);
  t.questions.push_back(std::move(q));
  t.options.threshold = 0.1f;
  t.query.k = 100;
  return t;
}

double Share::low() const {
  if (n == 0) return 0;
  const double p = static_cast<double>(hits) / static_cast<double>(n), z = 1.96, m = static_cast<double>(n);
  return std::max(0.0, p + z * z / (2 * m) - z * std::sqrt(p * (1 - p) / m + z * z / (4 * m * m))) / (1 + z * z / m);
}
double Share::high() const {
  if (n == 0) return 1;
  const Share misses{n, n - hits};
  return 1 - misses.low();
}
Json Share::json() const {
  Json j = Json::object();
  j.set("n", n), j.set("share", n > 0 ? static_cast<double>(hits) / static_cast<double>(n) : 0.0);
  j.set("low", low()), j.set("high", high());
  return j;
}

void RecallScore::add(const RecallScore& o) {
  mixpr.n += o.mixpr.n, mixpr.hits += o.mixpr.hits, bm25.n += o.bm25.n, bm25.hits += o.bm25.hits;
  words += o.words, bytes += o.bytes, chunks += o.chunks, index_s += o.index_s;
  // A mean of medians.
  const double mine = static_cast<double>(texts_), theirs = static_cast<double>(o.texts_);
  mixpr_ms = (mixpr_ms * mine + o.mixpr_ms * theirs) / (mine + theirs);
  bm25_ms = (bm25_ms * mine + o.bm25_ms * theirs) / (mine + theirs);
  texts_ += o.texts_;
}

Json RecallScore::json() const {
  Json j = Json::object();
  j.set("texts", texts_), j.set("words", words), j.set("bytes", bytes), j.set("chunks", chunks);
  j.set("mixpr", mixpr.json()), j.set("bm25", bm25.json()), j.set("index_s", index_s);
  j.set("mixpr_ms", mixpr_ms), j.set("bm25_ms", bm25_ms);
  return j;
}

RecallScore score_task(const RecallTask& task) {
  RecallScore s;
  Stopwatch watch;
  const RecallIndex index = RecallIndex::build(task.text, task.chunks, task.options);
  s.index_s = watch.seconds();
  s.words = static_cast<int64_t>(index.stats().words), s.bytes = static_cast<int64_t>(task.text.size());
  s.chunks = static_cast<int64_t>(task.chunks.size());
  const auto all_there = [&](const Recalled& r, const RecallQuestion& q) {
    std::set<std::string_view> got;
    const auto text = [&](uint32_t c) {
      return std::string_view(task.text).substr(task.chunks[c].begin, task.chunks[c].end - task.chunks[c].begin);
    };
    for (const RecalledChunk& c : r.chunks) got.insert(text(c.chunk));
    return std::all_of(q.needed.begin(), q.needed.end(), [&](uint32_t c) { return got.contains(text(c)); });
  };
  std::vector<double> walks, scans;
  for (const RecallQuestion& q : task.questions) {
    watch.lap();
    const Recalled walked = index.mixpr(q.text, task.query);
    walks.push_back(1e3 * watch.seconds());
    watch.lap();
    const Recalled ranked = index.bm25(q.text, task.query.k);
    scans.push_back(1e3 * watch.seconds());
    ++s.mixpr.n, ++s.bm25.n;
    s.mixpr.hits += all_there(walked, q), s.bm25.hits += all_there(ranked, q);
  }
  s.mixpr_ms = median(walks), s.bm25_ms = median(scans);
  return s;
}

}  // namespace quern::recall

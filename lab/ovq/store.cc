#include "lab/ovq/store.h"

#include <algorithm>
#include <cmath>

#include "lab/ovq/shuffle.h"
#include "quern/base/arena.h"
#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/mixers/gated_delta/fast_weights.h"
#include "quern/mixers/ovq/ovq.h"
#include "quern/mixers/ovq/ovq_plan.h"
#include "quern/mixers/ovq/ovq_read.h"
#include "quern/mixers/vq_attention/vq.h"

namespace quern::lab {
namespace {

constexpr int64_t kD = kStoreWidth;
using Rows = std::vector<float>;  // [n, kD]

View<const float, 2> view(const Rows& x) { return {x.data(), {static_cast<int64_t>(x.size()) / kD, kD}}; }

// x[i] = from[i] + noise of the given length, a unit vector again; from null: random unit vectors.
Rows unit_rows(int64_t n, const float* from, double noise, Rng& random) {
  Rows x(static_cast<size_t>(n * kD));
  for (int64_t i = 0; i < n; ++i) {
    double squares = 0;
    for (int64_t c = 0; c < kD; ++c) {
      const double drawn = random.normal() * (from ? noise / std::sqrt(static_cast<double>(kD)) : 1);
      const auto v = static_cast<float>((from ? from[i * kD + c] : 0) + drawn);
      x[static_cast<size_t>(i * kD + c)] = v;
      squares += static_cast<double>(v) * v;
    }
    for (int64_t c = 0; c < kD; ++c) x[static_cast<size_t>(i * kD + c)] /= static_cast<float>(std::sqrt(squares));
  }
  return x;
}

struct Store {
  Rows keys, values, queries;   // what is written, in order; what is asked
  std::vector<int32_t> wanted;  // classes of the queries

  void write(const Rows& key, int32_t of_class) {
    keys.insert(keys.end(), key.begin(), key.end());
    values.resize(values.size() + kD, 0.0f);
    values[values.size() - static_cast<size_t>(kD - of_class)] = 1;
  }
};

Rows row_of(const Rows& x, int64_t i) { return Rows(x.begin() + i * kD, x.begin() + (i + 1) * kD); }

Store make_store(const StoreOptions& o, uint64_t seed) {
  Rng random(seed, 0x570);
  const Rows items = unit_rows(o.items, nullptr, 0, random);
  std::vector<int32_t> classes;
  for (int64_t i = 0; i < o.items; ++i) classes.push_back(static_cast<int32_t>(random.below(kD)));
  Store s;
  // Every item `repeats` times, in random order; keys that are written once have no noise.
  std::vector<int64_t> order;
  for (int64_t i = 0; i < o.items * o.repeats; ++i) order.push_back(i % o.items);
  shuffle(order, random);
  for (int64_t item : order)
    s.write(o.repeats == 1 ? row_of(items, item) : unit_rows(1, items.data() + item * kD, o.noise, random),
            classes[static_cast<size_t>(item)]);
  const int64_t asked = std::min(o.asked, o.items);
  Rows of;
  for (int64_t i = 0; i < asked; ++i) {
    const int64_t item = i * o.items / asked;
    const Rows key = row_of(items, item);
    of.insert(of.end(), key.begin(), key.end());
    s.wanted.push_back(classes[static_cast<size_t>(item)]);
  }
  s.queries = unit_rows(asked, of.data(), o.noise, random);
  return s;
}

// Needles, keys of their own, among filler: noisy copies of few prototypes, prototype i with a weight of 1/(i + 1).
Store make_needles(const NeedleOptions& o, uint64_t seed) {
  Rng random(seed, 0x4eed);
  const Rows needles = unit_rows(o.needles, nullptr, 0, random),
             prototypes = unit_rows(o.prototypes, nullptr, 0, random);
  std::vector<int32_t> needle_classes, prototype_classes;
  for (int64_t i = 0; i < o.needles; ++i) needle_classes.push_back(static_cast<int32_t>(random.below(kD)));
  for (int64_t i = 0; i < o.prototypes; ++i) prototype_classes.push_back(static_cast<int32_t>(random.below(kD)));
  std::vector<double> up_to;  // sums of weights
  for (int64_t i = 0; i < o.prototypes; ++i)
    up_to.push_back((up_to.empty() ? 0 : up_to.back()) + 1 / static_cast<double>(i + 1));
  std::vector<char> is_needle(static_cast<size_t>(o.tokens), 0);
  std::fill_n(is_needle.begin(), o.needles, 1);
  if (!o.front) shuffle(is_needle, random);
  Store s;
  int64_t next = 0;
  for (char needle : is_needle) {
    if (needle) {
      s.write(row_of(needles, next), needle_classes[static_cast<size_t>(next)]);
      ++next;
      continue;
    }
    const auto i = std::min<std::ptrdiff_t>(
        std::upper_bound(up_to.begin(), up_to.end(), random.uniform() * up_to.back()) - up_to.begin(),
        o.prototypes - 1);
    s.write(unit_rows(1, prototypes.data() + i * kD, o.noise, random), prototype_classes[static_cast<size_t>(i)]);
  }
  s.queries = unit_rows(o.needles, needles.data(), o.noise, random);
  s.wanted = needle_classes;
  return s;
}

double share_right(const Store& s, const Rows& out) {
  int64_t right = 0;
  for (size_t i = 0; i < s.wanted.size(); ++i) {
    const float* row = out.data() + static_cast<int64_t>(i) * kD;
    right += std::max_element(row, row + kD) - row == s.wanted[i];
  }
  return static_cast<double>(right) / static_cast<double>(s.wanted.size());
}

// What the memory tells the queries; divisor as for a reading.
Rows read_all(const mixers::OvqOptions& o, const mixers::OvqMemory<float>& m, const float* divisor, double scale,
              const Rows& queries, Arena& scratch) {
  Rows out(queries.size());
  const mixers::OvqReading<float> r{o, m, kD, kD, divisor, static_cast<float>(scale)};
  const View<const float, 2> q = view(queries);
  const View<float, 2> y(out.data(), {q.shape[0], kD});
  for (int64_t i = 0; i < q.shape[0]; i += mixers::kOvqQueries) {
    const int64_t end = std::min(q.shape[0], i + mixers::kOvqQueries);
    mixers::ovq_read<float>(r, q.slice(i, end), y.slice(i, end), View<float, 1>(), scratch);
  }
  return out;
}

double ask_ovq(const DictionaryOptions& o, const Store& s, mixers::OvqGrowth growth, bool spread, int64_t rows) {
  const mixers::OvqOptions options{.rows = rows,
                                   .chunk = o.chunk,
                                   .growth = growth,
                                   .horizon = view(s.keys).shape[0],
                                   .spread = spread,
                                   .count_bias = o.count_bias};
  Arena scratch;
  Rows room(static_cast<size_t>(mixers::OvqMemory<float>::elements(options, kD, kD)), 0.0f), out(s.keys.size());
  mixers::OvqMemory<float> m = mixers::OvqMemory<float>::in(room.data(), options, kD, kD);
  mixers::ovq_forward<float>(options, {view(s.keys), view(s.keys), view(s.values), o.scale}, m,
                             View<float, 2>(out.data(), view(s.keys).shape), {}, scratch);
  return share_right(
      s, read_all(options, m, mixers::ovq_divisor<float>(options, m, kD, nullptr), o.scale, s.queries, scratch));
}

double ask_codebook(const DictionaryOptions& o, const Store& s, uint64_t seed) {
  const mixers::VqOptions options{.codes = o.rows, .chunk = o.chunk};
  Rng random(seed, 0xc0de);
  const Rows codes = unit_rows(o.rows, nullptr, 0, random);
  Rows columns(static_cast<size_t>(kD * mixers::ovq_key_stride(o.rows)), 0.0f), out(s.keys.size()),
      room(static_cast<size_t>(mixers::OvqMemory<float>::elements(options.reading(), kD, kD)), 0.0f),
      chunk_codes(static_cast<size_t>(o.chunk)), ones(static_cast<size_t>(o.rows), 1.0f);
  mixers::vq_columns<float>(options, codes.data(), kD, columns.data());
  mixers::OvqMemory<float> m = mixers::OvqMemory<float>::in(room.data(), options.reading(), kD, kD);
  m.keys = chunk_codes.data();
  Arena scratch;
  mixers::vq_forward<float>(options, {view(s.keys), view(s.keys), view(s.values), o.scale},
                            {codes.data(), columns.data()}, m,
                            {.out = View<float, 2>(out.data(), view(s.keys).shape)}, scratch);
  m.keys = columns.data(), m.live = o.rows;
  for (int64_t n = 0; n < o.rows; ++n) m.counts[n] = std::max(m.counts[n], 1e-30f);
  return share_right(s, read_all(options.reading(), m, ones.data(), o.scale, s.queries, scratch));
}

double ask_matrix(const Store& s, bool correct) {
  Rows state(static_cast<size_t>(kD * kD), 0.0f), out(s.keys.size()), answers(s.queries.size());
  Arena scratch;
  mixers::fast_weights<float>({view(s.keys), view(s.keys), view(s.values), {}, {}, correct}, state.data(),
                              View<float, 2>(out.data(), view(s.keys).shape), nullptr, scratch);
  for (size_t i = 0; i < s.wanted.size(); ++i)
    for (int64_t a = 0; a < kD; ++a)
      for (int64_t c = 0; c < kD; ++c)
        answers[i * kD + static_cast<size_t>(c)] +=
            s.queries[i * kD + static_cast<size_t>(a)] * state[static_cast<size_t>(a * kD + c)];
  return share_right(s, answers);
}

// Softmax attention over the last `rows` keys.
double ask_window(const DictionaryOptions& o, const Store& s) {
  const int64_t all = view(s.keys).shape[0], n = std::min(o.rows, all);
  Store last = s;
  last.keys.erase(last.keys.begin(), last.keys.end() - n * kD);
  last.values.erase(last.values.begin(), last.values.end() - n * kD);
  DictionaryOptions exact = o;
  exact.chunk = 1;
  return ask_ovq(exact, last, mixers::OvqGrowth::greedy, true, n);
}

}  // namespace

const std::vector<std::string>& needle_memories() {
  static const std::vector<std::string> names = {"ovq",      "ovq-linear", "ovq-greedy", "ovq-random-rows",
                                                 "codebook", "window",     "linear",     "delta"};
  return names;
}

std::vector<double> find_needles(const NeedleOptions& o, uint64_t seed) {
  if (o.needles < 1 || o.prototypes < 1) fail("needles and prototypes: expected at least 1 of each");
  if (o.tokens < o.needles)
    fail("{} keys written: expected at least as many as there are needles, {}", o.tokens, o.needles);
  if (o.dictionary.chunk < 1 || o.tokens % o.dictionary.chunk)
    fail("{} keys written: expected a multiple of the chunk, {}, so that all are in the dictionary", o.tokens,
         o.dictionary.chunk);
  const Store s = make_needles(o, seed);
  const DictionaryOptions& d = o.dictionary;
  return {ask_ovq(d, s, mixers::OvqGrowth::plateau, true, d.rows),
          ask_ovq(d, s, mixers::OvqGrowth::linear, true, d.rows),
          ask_ovq(d, s, mixers::OvqGrowth::greedy, true, d.rows),
          ask_ovq(d, s, mixers::OvqGrowth::plateau, false, d.rows),
          ask_codebook(d, s, seed),
          ask_window(d, s),
          ask_matrix(s, false),
          ask_matrix(s, true)};
}

const std::vector<std::string>& store_memories() {
  static const std::vector<std::string> names = {"softmax",  "ovq",    "ovq-greedy", "ovq-random-rows",
                                                 "codebook", "linear", "delta"};
  return names;
}

std::vector<double> store_and_ask(const StoreOptions& o, uint64_t seed) {
  if (o.items < 1 || o.repeats < 1 || o.asked < 1)
    fail("a store needs items, repeats and questions: at least 1 each");
  if (o.dictionary.chunk < 1 || o.items * o.repeats % o.dictionary.chunk)
    fail("{} keys written: expected a multiple of the chunk, {}, so that all are in the dictionary",
         o.items * o.repeats, o.dictionary.chunk);
  const DictionaryOptions& d = o.dictionary;
  const Store s = make_store(o, seed);
  const int64_t all = o.items * o.repeats;  // with a row for every token a greedy dictionary is softmax attention
  return {ask_ovq(d, s, mixers::OvqGrowth::greedy, true, all),
          ask_ovq(d, s, mixers::OvqGrowth::plateau, true, d.rows),
          ask_ovq(d, s, mixers::OvqGrowth::greedy, true, d.rows),
          ask_ovq(d, s, mixers::OvqGrowth::plateau, false, d.rows),
          ask_codebook(d, s, seed),
          ask_matrix(s, false),
          ask_matrix(s, true)};
}

}  // namespace quern::lab

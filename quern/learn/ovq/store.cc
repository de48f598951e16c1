#include "quern/learn/ovq/store.h"

#include <algorithm>
#include <cmath>

#include "quern/base/arena.h"
#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/mixers/gated_delta/fast_weights.h"
#include "quern/mixers/ovq/ovq.h"
#include "quern/mixers/ovq/ovq_plan.h"
#include "quern/mixers/ovq/ovq_read.h"
#include "quern/mixers/vq_attention/vq.h"

namespace quern {
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
};

Store make_store(const StoreOptions& o, uint64_t seed) {
  Rng random(seed, 0x570);
  const Rows items = unit_rows(o.items, nullptr, 0, random);
  std::vector<int32_t> classes;
  for (int64_t i = 0; i < o.items; ++i) classes.push_back(static_cast<int32_t>(random.below(kD)));
  Store s;
  // Every item `repeats` times, in random order; keys that are written once have no noise.
  std::vector<int64_t> order;
  for (int64_t i = 0; i < o.items * o.repeats; ++i) order.push_back(i % o.items);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (int64_t item : order) {
    const Rows key = o.repeats == 1 ? Rows(items.begin() + item * kD, items.begin() + (item + 1) * kD)
                                    : unit_rows(1, items.data() + item * kD, o.noise, random);
    s.keys.insert(s.keys.end(), key.begin(), key.end());
    s.values.resize(s.values.size() + kD, 0.0f);
    s.values[s.values.size() - static_cast<size_t>(kD - classes[static_cast<size_t>(item)])] = 1;
  }
  const int64_t asked = std::min(o.asked, o.items);
  Rows of;
  for (int64_t i = 0; i < asked; ++i) {
    const int64_t item = i * o.items / asked;
    of.insert(of.end(), items.begin() + item * kD, items.begin() + (item + 1) * kD);
    s.wanted.push_back(classes[static_cast<size_t>(item)]);
  }
  s.queries = unit_rows(asked, of.data(), o.noise, random);
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
Rows read_all(const OvqOptions& o, const OvqMemory<float>& m, const float* divisor, double scale, const Rows& queries,
              Arena& scratch) {
  Rows out(queries.size());
  const OvqReading<float> r{o, m, kD, kD, divisor, static_cast<float>(scale)};
  const View<const float, 2> q = view(queries);
  const View<float, 2> y(out.data(), {q.shape[0], kD});
  for (int64_t i = 0; i < q.shape[0]; i += kOvqQueries) {
    const int64_t end = std::min(q.shape[0], i + kOvqQueries);
    ovq_read<float>(r, q.slice(i, end), y.slice(i, end), View<float, 1>(), scratch);
  }
  return out;
}

double ask_ovq(const StoreOptions& o, const Store& s, OvqGrowth growth, bool spread, int64_t rows) {
  const OvqOptions options{.rows = rows, .chunk = o.chunk, .growth = growth, .spread = spread};
  Arena scratch;
  Rows room(static_cast<size_t>(OvqMemory<float>::elements(options, kD, kD)), 0.0f), out(s.keys.size());
  OvqMemory<float> m = OvqMemory<float>::in(room.data(), options, kD, kD);
  ovq_forward<float>(options, {view(s.keys), view(s.keys), view(s.values), o.scale}, m,
                     View<float, 2>(out.data(), view(s.keys).shape), {}, scratch);
  return share_right(s,
                     read_all(options, m, ovq_divisor<float>(options, m, kD, nullptr), o.scale, s.queries, scratch));
}

double ask_codebook(const StoreOptions& o, const Store& s, uint64_t seed) {
  const VqOptions options{.codes = o.rows, .chunk = o.chunk};
  Rng random(seed, 0xc0de);
  const Rows codes = unit_rows(o.rows, nullptr, 0, random);
  Rows columns(static_cast<size_t>(kD * ovq_key_stride(o.rows)), 0.0f), out(s.keys.size()),
      room(static_cast<size_t>(OvqMemory<float>::elements(options.reading(), kD, kD)), 0.0f),
      chunk_codes(static_cast<size_t>(o.chunk)), ones(static_cast<size_t>(o.rows), 1.0f);
  vq_columns<float>(options, codes.data(), kD, columns.data());
  OvqMemory<float> m = OvqMemory<float>::in(room.data(), options.reading(), kD, kD);
  m.keys = chunk_codes.data();
  Arena scratch;
  vq_forward<float>(options, {view(s.keys), view(s.keys), view(s.values), o.scale}, {codes.data(), columns.data()}, m,
                    View<float, 2>(out.data(), view(s.keys).shape), {}, {}, scratch);
  m.keys = columns.data(), m.live = o.rows;
  for (int64_t n = 0; n < o.rows; ++n) m.counts[n] = std::max(m.counts[n], 1e-30f);
  return share_right(s, read_all(options.reading(), m, ones.data(), o.scale, s.queries, scratch));
}

double ask_matrix(const Store& s, bool correct) {
  Rows state(static_cast<size_t>(kD * kD), 0.0f), out(s.keys.size()), answers(s.queries.size());
  Arena scratch;
  fast_weights<float>({view(s.keys), view(s.keys), view(s.values), {}, {}, correct}, state.data(),
                      View<float, 2>(out.data(), view(s.keys).shape), nullptr, scratch);
  for (size_t i = 0; i < s.wanted.size(); ++i)
    for (int64_t a = 0; a < kD; ++a)
      for (int64_t c = 0; c < kD; ++c)
        answers[i * kD + static_cast<size_t>(c)] +=
            s.queries[i * kD + static_cast<size_t>(a)] * state[static_cast<size_t>(a * kD + c)];
  return share_right(s, answers);
}

}  // namespace

const std::vector<std::string>& store_memories() {
  static const std::vector<std::string> names = {"softmax",  "ovq",    "ovq-greedy", "ovq-random-rows",
                                                 "codebook", "linear", "delta"};
  return names;
}

std::vector<double> store_and_ask(const StoreOptions& o, uint64_t seed) {
  if (o.items < 1 || o.repeats < 1 || o.asked < 1)
    fail("a store needs items, repeats and questions: at least 1 each");
  if (o.items * o.repeats % o.chunk)
    fail("{} keys written: expected a multiple of the chunk, {}, so that all are in the dictionary",
         o.items * o.repeats, o.chunk);
  const Store s = make_store(o, seed);
  const int64_t all = o.items * o.repeats;  // with a row for every token a greedy dictionary is softmax attention
  return {ask_ovq(o, s, OvqGrowth::greedy, true, all),
          ask_ovq(o, s, OvqGrowth::plateau, true, o.rows),
          ask_ovq(o, s, OvqGrowth::greedy, true, o.rows),
          ask_ovq(o, s, OvqGrowth::plateau, false, o.rows),
          ask_codebook(o, s, seed),
          ask_matrix(s, false),
          ask_matrix(s, true)};
}

}  // namespace quern

// quern bench mixers --decode: cost of one token after a long context, for softmax attention, whose KV cache grows,
// and recurrent memories of constant size. Whole layers are timed, with their projections; a layer of the same width
// with an empty memory is the common part. Kinds take turns inside each repetition.
#include <memory>
#include <vector>

#include "apps/quern/bench/bench_mixers.h"
#include "apps/quern/cli/args.h"
#include "apps/quern/models/context.h"
#include "quern/base/stopwatch.h"
#include "quern/grad/gradcheck.h"
#include "quern/host/bench.h"
#include "quern/mixers/mixer.h"

namespace quern::cli {
namespace {

struct DecodeKind {
  std::string name;
  Json fields;
};

std::vector<DecodeKind> decode_kinds(const DecodeBenchOptions& o) {
  auto fields = [&](const char* type) {
    Json j = Json::object();
    j.set("type", type), j.set("width", o.n_head * o.head_dim), j.set("n_head", o.n_head);
    j.set("head_dim", o.head_dim);
    return j;
  };
  std::vector<DecodeKind> all = {{"softmax", fields("attention")},
                                 {"ovq", fields("ovq")},
                                 {"linear", fields("linear_attention")},
                                 {"gated_delta", fields("gated_delta")}};
  all[0].fields.set("n_head_kv", o.n_head);
  all[1].fields.set("rows", o.rows), all[1].fields.set("chunk", o.chunk);
  all[1].fields.set("growth", "greedy");  // all rows live from N tokens on, as the estimate 1.5 N + C/2 has it
  return all;
}

struct DecodeRun {
  std::unique_ptr<mixers::Mixer> mixer;
  mixers::SequenceState state;
  std::vector<double> microseconds;  // of the depth being timed
};

DecodeRun decode_run(const DecodeKind& k) {
  Json fields = k.fields;
  const std::string type = fields.at("type").as_string();
  fields.erase("type");
  DecodeRun r{nn::builtin_registry().mixers.make(type, fields), {}, {}};
  nn::initialize(*r.mixer, 1);
  r.mixer->pack(DType::f32);
  r.state = mixers::SequenceState({{0, 0, r.mixer->state_spec(DType::f32)}});
  return r;
}

// Rows up to `depth`, so that the timed tokens come behind them. A cache is filled with random rows: what they hold
// costs nothing, and a prompt of 2^17 tokens costs minutes of attention.
void fill(DecodeRun& r, int64_t depth, int64_t width) {
  grad::Tape tape(grad::Tape::inference);
  const mixers::StateSpec& spec = r.state.sites()[0].spec;
  while (r.state.length() < depth) {
    const int64_t n = std::min<int64_t>(1024, depth - r.state.length());
    const auto seed = static_cast<uint64_t>(r.state.length());
    if (spec.parts[0].per_token) {
      for (size_t i = 0; i < spec.parts.size(); ++i) {
        Tensor to = r.state.append(0, static_cast<int>(i), n);
        to.copy_from(grad::random_normal(to.shape(), seed + i, DType::f32));
      }
    } else {
      r.mixer->forward(tape, grad::Var(grad::random_normal({n, width}, seed, DType::f32)),
                       mixers::Batch::resume({&r.state}, {n}), 0);
    }
    r.state.advance(n);
  }
}

// Of tokens that continue a copy of the sequence: every repetition begins at the same depth.
double token_microseconds(DecodeRun& r, const Tensor& x, int64_t tokens) {
  mixers::SequenceState state = r.state.fork();
  state.reserve(state.length() + tokens);
  grad::Tape tape(grad::Tape::inference);
  const Stopwatch watch;
  for (int64_t i = 0; i < tokens; ++i) {
    r.mixer->forward(tape, grad::Var(x), mixers::Batch::resume({&state}, {1}), 0);
    state.advance(1);
  }
  return 1e6 * watch.seconds() / static_cast<double>(tokens);
}

// The depth at which softmax costs what OVQ does, on the line between the two depths around it; 0: outside.
double crossing(const std::vector<int64_t>& depths, const std::vector<double>& ratio) {
  for (size_t i = 1; i < depths.size(); ++i)
    if ((ratio[i - 1] < 1) != (ratio[i] < 1)) {
      const double share = (1 - ratio[i - 1]) / (ratio[i] - ratio[i - 1]);
      return static_cast<double>(depths[i - 1]) + share * static_cast<double>(depths[i] - depths[i - 1]);
    }
  return 0;
}

void check(const DecodeBenchOptions& o) {
  if (o.rows < 1 || o.chunk < 1 || o.n_head < 1 || o.head_dim < 1)
    throw UsageError("quern bench mixers: expected --dictionary and --write-every of at least 1");
}

// Depths around what the two laws say, N + C/2 and 1.5 N + C/2.
std::vector<int64_t> depths_around(double low, double high) {
  std::vector<int64_t> depths;
  for (double share : {0.6, 0.8, 1.0}) depths.push_back(static_cast<int64_t>(share * low));
  for (double share : {0.5, 1.0, 1.4}) depths.push_back(static_cast<int64_t>(low + share * (high - low)));
  return depths;
}

struct Crossing {
  double tokens = 0, ovq_us = 0, read_law = 0, whole_law = 0;
};

// All rows of the dictionary alive, whatever the depth of softmax beside it: in a short sequence not all would be.
Crossing measured_crossing(const DecodeBenchOptions& o) {
  const int64_t width = o.n_head * o.head_dim;
  Crossing c;
  c.read_law = static_cast<double>(o.rows) + static_cast<double>(o.chunk) / 2;
  c.whole_law = 1.5 * static_cast<double>(o.rows) + static_cast<double>(o.chunk) / 2;
  const std::vector<DecodeKind> kinds = decode_kinds(o);
  DecodeRun ovq = decode_run(kinds[1]);
  fill(ovq, (o.rows / o.chunk + 2) * o.chunk, width);
  // A stretch of tokens holds whole chunks, and softmax's begin so far ahead of the depth that they lie around it.
  const int64_t tokens = (std::max<int64_t>(64, o.chunk) + o.chunk - 1) / o.chunk * o.chunk;
  std::vector<int64_t> depths;
  std::vector<DecodeRun> softmax;
  for (int64_t d : depths_around(c.read_law, c.whole_law)) {
    if (d <= tokens) continue;
    depths.push_back(d);
    softmax.push_back(decode_run(kinds[0]));
    fill(softmax.back(), d - tokens / 2, width);
  }
  if (depths.size() < 2)
    throw UsageError(
        fmt::format("quern bench mixers: --write-every {} is too large to measure the crossing of {} rows: lower it",
                    o.chunk, o.rows));
  const Tensor x = grad::random_normal({1, width}, 7, DType::f32);
  std::vector<double> found;
  for (int64_t rep = -1; rep < o.reps; ++rep) {
    const double before = token_microseconds(ovq, x, tokens);
    std::vector<double> us;
    for (DecodeRun& r : softmax) us.push_back(token_microseconds(r, x, tokens));
    const double own = (before + token_microseconds(ovq, x, tokens)) / 2;
    if (rep < 0) continue;
    ovq.microseconds.push_back(own);
    // The line through softmax's times, least squares; where it has OVQ's.
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < us.size(); ++i) {
      const auto d = static_cast<double>(depths[i]);
      n += 1, sx += d, sy += us[i], sxx += d * d, sxy += d * us[i];
    }
    const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx), base = (sy - slope * sx) / n;
    found.push_back((own - base) / slope);
  }
  c.tokens = host::median(found), c.ovq_us = host::median(ovq.microseconds);
  return c;
}

}  // namespace

int bench_crossing(const DecodeBenchOptions& given, const std::vector<int64_t>& dictionaries) {
  const bool json = given.json;
  Json rows = Json::object();
  std::vector<double> of_read, of_whole;
  for (int64_t n : dictionaries) {
    DecodeBenchOptions o = given;
    o.rows = n;
    check(o);
    if (n < 128) throw UsageError(fmt::format("quern bench mixers: --dictionary {}: expected at least 128", n));
    const Crossing c = measured_crossing(o);
    Json one = Json::object();
    one.set("crossing", c.tokens), one.set("ovq_us", c.ovq_us);
    one.set("over_n_and_half_a_chunk", c.tokens / c.read_law);
    one.set("over_1.5n_and_half_a_chunk", c.tokens / c.whole_law);
    of_read.push_back(c.tokens / c.read_law), of_whole.push_back(c.tokens / c.whole_law);
    if (!json)
      fmt::print(
          "{:>6} rows, chunks of {}: softmax costs as much at {:.0f} tokens ({:.1f} µs); N + C/2 = {:.0f}, "
          "1.5 N + C/2 = {:.0f}\n",
          n, o.chunk, c.tokens, c.ovq_us, c.read_law, c.whole_law);
    rows.set(std::to_string(n), std::move(one));
  }
  if (!json) return 0;
  Json j = Json::object();
  j.set("heads", given.n_head), j.set("head_dim", given.head_dim), j.set("chunk", given.chunk);
  j.set("dictionaries", std::move(rows));
  j.set("over_n_and_half_a_chunk", host::median(of_read)),
      j.set("over_1.5n_and_half_a_chunk", host::median(of_whole));
  fmt::print("{}\n", j.dump(2));
  return 0;
}

int bench_decode(const DecodeBenchOptions& o) {
  const bool json = o.json;
  check(o);
  if (o.deepest < 1024 || o.deepest > 1 << 20)
    throw UsageError(fmt::format("quern bench mixers: --max-context {}: expected 1024 to {}", o.deepest, 1 << 20));
  const int64_t width = o.n_head * o.head_dim;
  const std::vector<DecodeKind> kinds = decode_kinds(o);
  std::vector<DecodeRun> runs;
  for (const DecodeKind& k : kinds) runs.push_back(decode_run(k));
  const Tensor x = grad::random_normal({1, width}, 7, DType::f32);
  std::vector<int64_t> depths;
  std::vector<double> ratio;
  Json rows = Json::array();
  for (int64_t depth = 1024; depth <= o.deepest; depth *= 2) {
    for (DecodeRun& r : runs) fill(r, depth, width), r.microseconds.clear();
    // As many tokens as a chunk holds: one write falls into every repetition.
    for (int64_t rep = -1; rep < o.reps; ++rep)
      for (DecodeRun& r : runs)
        if (const double us = token_microseconds(r, x, o.chunk); rep >= 0) r.microseconds.push_back(us);
    Json row = Json::object();
    row.set("depth", depth);
    std::vector<double> softmax_over_ovq;
    for (size_t i = 0; i < runs[0].microseconds.size(); ++i)
      softmax_over_ovq.push_back(runs[0].microseconds[i] / runs[1].microseconds[i]);
    for (size_t k = 0; k < kinds.size(); ++k) {
      row.set(kinds[k].name + "_us", host::median(runs[k].microseconds));
      row.set(kinds[k].name + "_bytes", runs[k].state.bytes());
    }
    row.set("softmax_over_ovq", host::median(softmax_over_ovq));
    depths.push_back(depth), ratio.push_back(host::median(softmax_over_ovq));
    if (!json) {
      fmt::print("{:>7} tokens", depth);
      for (size_t k = 0; k < kinds.size(); ++k)
        fmt::print("  {} {:.1f} µs {:.2f} MB", kinds[k].name, host::median(runs[k].microseconds),
                   static_cast<double>(runs[k].state.bytes()) / 1e6);
      fmt::print("  softmax/ovq {:.2f}\n", ratio.back());
    }
    rows.push(row);
  }
  Json j = Json::object();
  j.set("heads", o.n_head), j.set("head_dim", o.head_dim), j.set("rows", o.rows), j.set("chunk", o.chunk);
  j.set("depths", rows);
  j.set("crossing", crossing(depths, ratio));
  j.set("expected_crossing", 1.5 * static_cast<double>(o.rows) + static_cast<double>(o.chunk) / 2);
  if (json)
    fmt::print("{}\n", j.dump(2));
  else
    fmt::print("softmax costs what OVQ does at {:.0f} tokens; 1.5 N + C/2 = {:.0f}\n", j.at("crossing").as_double(),
               j.at("expected_crossing").as_double());
  return 0;
}

}  // namespace quern::cli

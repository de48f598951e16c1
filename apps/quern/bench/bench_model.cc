// Decode: states are filled to the depth with random rows instead of a prefill, so that 8K tokens of context cost a
// second and not a minute; every step then reads real weights and a real KV cache. One repetition is the read
// bandwidth before and after a step, and the step; the result is the median of the repetitions' ratios. Prefill: the
// prompt in one forward pass, compared with the bf16 peak; flops are two per weight read, embedding rows excluded.
#include "apps/quern/bench/bench_model.h"

#include <algorithm>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/whole_numbers.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/random_model.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/host/bench.h"
#include "quern/host/host.h"
#include "quern/infer/cache/kv_type.h"
#include "quern/trace/op_counters.h"

namespace quern::cli {
namespace {

constexpr double kByteScale = 1.0 / 64;  // of every row of a made-up cache in 8 bits

void fill_random(const Tensor& t, uint64_t seed) {
  Rng rng(seed);
  const double size = t.dtype() == DType::i8 ? 0.5 / kByteScale : 0.5;
  std::vector<float> block(static_cast<size_t>(std::min<int64_t>(t.size(), 1 << 16)));
  for (float& x : block) x = static_cast<float>(std::clamp(rng.normal() * size, -127.0, 127.0));
  Tensor dense = Tensor::empty(t.shape(), DType::f32);  // t may be strided, as the heads of a cache are
  for (int64_t at = 0; at < t.size(); at += static_cast<int64_t>(block.size()))
    std::copy_n(block.data(), std::min<int64_t>(static_cast<int64_t>(block.size()), t.size() - at),
                dense.data<float>() + at);
  t.copy_from(dense);
}

struct Decode {
  DType kv = DType::bf16;
  int64_t depth = 0, batch = 0;
  double tokens_per_s = 0, bytes_per_token = 0, read = 0, ratio = 0;
  double beside_first = 1;  // median of its time over the first one's of the same repetition
};

// Sequences at the depth under one type of cache, and what their steps took.
struct Decoding {
  DType kv;
  std::vector<mixers::SequenceState> states = {};
  std::vector<mixers::SequenceState*> pointers = {};
  std::vector<double> seconds = {}, read = {}, ratio = {}, bytes = {};
};

std::vector<Decode> decode(models::Model& model, int64_t depth, int64_t batch, const std::vector<DType>& kvs,
                           int64_t reps) {
  std::vector<Decoding> all;
  for (DType kv : kvs) {
    Decoding& d = all.emplace_back(Decoding{kv});
    for (int64_t b = 0; b < batch; ++b)
      d.states.push_back(state_at(model, depth, kv, static_cast<uint64_t>(b) << 20));
    for (mixers::SequenceState& s : d.states) s.reserve(depth + reps + 2), d.pointers.push_back(&s);
  }
  std::vector<int64_t> ones(static_cast<size_t>(batch), 1);
  std::vector<int32_t> ids(static_cast<size_t>(batch));
  Rng rng(7);
  auto step = [&](Decoding& d) {
    for (int32_t& id : ids) id = static_cast<int32_t>(rng.uniform() * static_cast<double>(model.vocab_size()));
    grad::Tape tape(grad::Tape::inference);
    model.logits(tape, model.hidden(tape, ids, mixers::Batch::resume(d.pointers, ones)));
  };
  for (Decoding& d : all) step(d);  // first touch of scratch
  double before = host::measure(host::Bound::read);
  for (int64_t i = 0; i < reps; ++i)
    for (Decoding& d : all) {
      int64_t weights = trace::weight_bytes_read.load(), cache = 0;
      for (const mixers::SequenceState& s : d.states) cache += s.bytes();
      const Stopwatch watch;
      step(d);
      d.seconds.push_back(watch.seconds());
      double after = host::measure(host::Bound::read);
      d.bytes.push_back(static_cast<double>(trace::weight_bytes_read.load() - weights + cache));
      d.read.push_back((before + after) / 2);
      d.ratio.push_back(d.bytes.back() * 1e-9 / d.seconds.back() / d.read.back());
      before = after;
    }
  std::vector<Decode> out;
  const double n = static_cast<double>(batch);
  for (const Decoding& d : all) {
    std::vector<double> beside;
    for (size_t i = 0; i < d.seconds.size(); ++i) beside.push_back(d.seconds[i] / all[0].seconds[i]);
    out.push_back({d.kv, depth, batch, n / host::median(d.seconds), host::median(d.bytes) / n, host::median(d.read),
                   host::median(d.ratio), host::median(beside)});
  }
  return out;
}

struct Prefill {
  int64_t tokens = 0;
  double tokens_per_s = 0, flops = 0, peak = 0, ratio = 0;
};

void run_prompt(models::Model& model, const std::vector<int32_t>& ids, mixers::SequenceState& state) {
  const auto tokens = static_cast<int64_t>(ids.size());
  grad::Tape tape(grad::Tape::inference);
  grad::Var h = model.hidden(tape, ids, mixers::Batch::resume({&state}, {tokens}));
  model.logits(tape, grad::Var(h.value.narrow(0, tokens - 1, 1)));
}

// A prompt long enough that every expert gets a token. Weights nobody has read since they were made are slow to read
// once, by a factor of two and more, and in a model at work there are none.
void read_all_weights(models::Model& model, DType kv) {
  constexpr int64_t kTokens = 512;
  mixers::SequenceState state(model.sites(kv));
  run_prompt(model, random_tokens(kTokens, model.vocab_size(), 11), state);
}

// Two flops a weight a row; attention over the prompt comes on top and is not counted.
Prefill prefill(models::Model& model, int64_t tokens, DType kv, int64_t reps) {
  const std::vector<int32_t> ids = random_tokens(tokens, model.vocab_size(), 3);
  std::vector<double> seconds, peak, ratio;
  double flops = 0, before = host::measure(host::Bound::bf16_flops);
  for (int64_t i = 0; i < reps; ++i) {
    mixers::SequenceState state(model.sites(kv));
    state.reserve(tokens);
    int64_t done = trace::matmul_flops.load();
    const Stopwatch watch;
    run_prompt(model, ids, state);
    seconds.push_back(watch.seconds());
    flops = static_cast<double>(trace::matmul_flops.load() - done);
    double after = host::measure(host::Bound::bf16_flops);
    peak.push_back((before + after) / 2);
    ratio.push_back(flops * 1e-9 / seconds.back() / peak.back());
    before = after;
  }
  return {tokens, static_cast<double>(tokens) / host::median(seconds), flops, host::median(peak),
          host::median(ratio)};
}

std::vector<DType> bench_kvs(const ModelBenchOptions& o) {
  std::vector<DType> kvs;
  for (const std::string& word : o.kv) kvs.push_back(parse_kv_flag(word));
  if (kvs.empty()) kvs.push_back(o.scheme == "f32" ? DType::f32 : DType::bf16);
  return kvs;
}

// A packed folder stays as it is, whatever is asked for.
std::string quant_format_of(const ModelBenchOptions& o) {
  if (o.dir.empty()) return o.scheme;
  const auto packed = packed_formats(o.dir, models::open_checkpoint(o.dir));
  return packed ? std::string(kernels::format_name(packed->first.format)) : o.scheme;
}

}  // namespace

std::vector<int32_t> random_tokens(int64_t n, int64_t vocab, uint64_t seed) {
  std::vector<int32_t> t(static_cast<size_t>(n));
  Rng rng(seed);
  for (int32_t& x : t) x = static_cast<int32_t>(rng.uniform() * static_cast<double>(vocab));
  return t;
}

mixers::SequenceState state_at(const models::Model& model, int64_t depth, DType kv, uint64_t seed) {
  mixers::SequenceState s(model.sites(kv));
  for (size_t i = 0; i < s.sites().size(); ++i)
    for (size_t p = 0; p < s.sites()[i].spec.parts.size(); ++p) {
      int site = static_cast<int>(i), part = static_cast<int>(p);
      const mixers::StatePart& spec = s.sites()[i].spec.parts[p];
      const Tensor to = spec.per_token ? s.append(site, part, depth) : s.fixed(site, part);
      if (spec.name.ends_with("_scale"))
        to.copy_from(Tensor::full(to.shape(), DType::f32, kByteScale));
      else
        fill_random(to, seed + i * 16 + p);
    }
  s.advance(depth);
  return s;
}

std::unique_ptr<models::Model> bench_subject(const ModelBenchOptions& o) {
  if (o.dir.empty() == o.shape.empty()) throw UsageError("quern bench: expected either DIR or --shape");
  const Stopwatch watch;
  auto model = o.dir.empty() ? random_model(o.shape, o.scheme) : load_for_inference(o.dir, o.scheme);
  fmt::print(stderr, "ready in {:.1f} s\n", watch.seconds());
  return model;
}

std::unique_ptr<models::Model> bench_draft_model(const ModelBenchOptions& o, const std::string& draft) {
  if (!is_packing(draft)) return load_for_inference(model_folder(draft), "auto");
  ModelBenchOptions same = o;
  same.scheme = draft;
  return bench_subject(same);
}

DType bench_kv(const ModelBenchOptions& o) {
  if (o.kv.size() > 1)
    throw UsageError("quern bench: give --kv only once: only the benchmarks model and batch compare several");
  return bench_kvs(o)[0];
}

int bench_batch(ModelBenchOptions o) {
  if (o.batches.empty()) o.batches = {"1", "4", "16"};
  if (o.depths.empty()) o.depths = {"512"};
  o.skip_prefill = true;
  return bench_model(o);
}

int bench_model(const ModelBenchOptions& o) {
  const bool json = o.json;
  std::vector<int64_t> depths = whole_numbers(o.depths, "--depth", {512, 8192}),
                       batches = whole_numbers(o.batches, "--batch", {1});
  const std::vector<DType> kvs = bench_kvs(o);
  std::unique_ptr<models::Model> model = bench_subject(o);
  read_all_weights(*model, kvs[0]);
  Json out = Json::object(), rows = Json::array();
  out.set("model", o.dir.empty() ? o.shape : o.dir);
  out.set("scheme", quant_format_of(o));
  out.set("resident_bytes", resident_bytes());
  if (!json)
    fmt::print("{:<10}{:>8}{:>7}{:>12}{:>14}{:>12}{:>8}\n", "", "tokens", "batch", "tokens/s", "MB per token",
               "bound", "ratio");
  if (!o.skip_prefill) {
    Prefill p = prefill(*model, o.prompt, kvs[0], std::min<int64_t>(o.reps, 3));
    out.set("prefill_tokens", p.tokens);
    out.set("prefill_tokens_per_s", p.tokens_per_s);
    out.set("prefill_peak_ratio", p.ratio);
    if (!json)
      fmt::print("{:<10}{:>8}{:>7}{:>12.1f}{:>14}{:>7.0f} GF/s{:>7.2f}\n", "prefill", p.tokens, 1, p.tokens_per_s, "",
                 p.peak, p.ratio);
  }
  double first = 0;
  for (int64_t batch : batches)
    for (int64_t depth : depths)
      for (const Decode& d : decode(*model, depth, batch, kvs, o.reps)) {
        Json row = Json::object();
        row.set("kv", infer::kv_name(d.kv));
        row.set("depth", d.depth);
        row.set("batch", d.batch);
        row.set("decode_tokens_per_s", d.tokens_per_s);
        row.set("bytes_per_token", d.bytes_per_token);
        row.set("read_gb_per_s", d.read);
        row.set("decode_roofline_ratio", d.ratio);
        if (rows.as_array().empty()) first = d.tokens_per_s;
        if (!json)
          fmt::print("{:<10}{:>8}{:>7}{:>12.2f}{:>14.1f}{:>7.1f} GB/s{:>7.2f}{}{}\n", "decode", d.depth, d.batch,
                     d.tokens_per_s, d.bytes_per_token * 1e-6, d.read, d.ratio, d.ratio > 1.05 ? " !" : "",
                     (batch > 1 ? fmt::format("  {:.1f}× the first line", d.tokens_per_s / first) : "") +
                         (kvs.size() > 1 ? fmt::format("  KV cache {}: {:.2f} of the time of the first",
                                                       infer::kv_name(d.kv), d.beside_first)
                                         : ""));
        row.set("time_beside_first_kv", d.beside_first);
        row.set("times_first", d.tokens_per_s / first);
        if (rows.as_array().empty())
          for (const char* key : {"decode_tokens_per_s", "bytes_per_token", "decode_roofline_ratio"})
            out.set(key, row.at(key, "row"));
        rows.push(std::move(row));
      }
  out.set("decode", std::move(rows));
  if (json)
    fmt::print("{}\n", out.dump(2));
  else
    fmt::print("resident {:.2f} GB\n", static_cast<double>(resident_bytes()) * 1e-9);
  return 0;
}

}  // namespace quern::cli

#include "quern/learn/ovq/association_study.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "quern/base/rng.h"
#include "quern/models/checkpoint.h"
#include "quern/optim/clip.h"
#include "quern/optim/groups.h"
#include "quern/optim/schedule.h"

namespace quern {
namespace {

constexpr int64_t kWidth = 64, kWindow = 16, kTrainTokens = 2048;
constexpr uint64_t kTestSeed = 0x7e57;

Json object(std::initializer_list<std::pair<const char*, Json>> fields) {
  Json j = Json::object();
  for (const auto& [key, value] : fields) j.set(key, value);
  return j;
}

Json memory_mixer(const AssociationOptions& o, int64_t rows) {
  Json m = object({{"n_head", Json(int64_t{1})}, {"head_dim", Json(kWidth)}});
  if (o.memory == "softmax" || o.memory == "ovq") {
    // One chunk as long as any sequence: nothing is ever written, and the read is exact softmax attention.
    const int64_t longest = association_length(o.task, *std::max_element(o.test.begin(), o.test.end())),
                  trained = association_length(o.task, *std::max_element(o.train.begin(), o.train.end()));
    m.set("type", "ovq");
    m.set("rows", o.memory == "softmax" ? 1 : rows);
    m.set("chunk", o.memory == "softmax" ? std::max(longest, trained) : o.chunk);
    m.set("growth", o.growth), m.set("count_bias", o.count_bias), m.set("spread", o.spread);
  } else if (o.memory == "vq") {
    m.set("type", "vq_attention"), m.set("codes", rows), m.set("chunk", o.chunk);
  } else if (o.memory == "delta") {
    m.set("type", "gated_delta"), m.set("taps", int64_t{0}), m.set("decay", false), m.set("gate", false);
  } else if (o.memory == "gated-delta") {
    m.set("type", "gated_delta");
    return m;  // its convolution is its shift
  } else if (o.memory == "linear") {
    m.set("type", "linear_attention");
  } else {
    fail("memory '{}', expected softmax, ovq, vq, delta, gated-delta or linear", o.memory);
  }
  m.set("key_shift", true);
  return m;
}

// Matrices uniform-sized as 1/√(3k), the embedding at 0.1: with the usual 0.02 so narrow a model starts too flat.
void start(Model& model, uint64_t seed) {
  initialise(model, seed);
  model.visit("", [](const std::string&, Parameter& p) {
    double std = 0;
    if (p.kind == ParameterKind::matrix) std = 1 / std::sqrt(3.0 * static_cast<double>(p.shape.back()));
    if (p.kind == ParameterKind::embedding) std = 0.1;
    if (std > 0 && p.init.value > 0)
      for (float& v : p.value.span<float>()) v *= static_cast<float>(std / p.init.value);
  });
}

Batch batch_of(const Associations& a) {
  return Batch::documents(std::vector<int64_t>(static_cast<size_t>(a.rows), a.length));
}

double accuracy(Model& model, const AssociationOptions& o, int64_t n) {
  int64_t right = 0, asked = 0;
  const int64_t at_once = std::max<int64_t>(1, 8192 / association_length(o.task, n));
  for (int64_t first = 0; first < o.test_sequences; first += at_once) {
    const Associations a = make_associations(o.task, n, std::min(at_once, o.test_sequences - first), kTestSeed,
                                             static_cast<uint64_t>(n * 1000000 + first));
    Tape tape(Tape::inference);
    const Tensor h = model.hidden(tape, a.ids, batch_of(a)).value;
    std::vector<int32_t> wanted;
    for (int32_t t : a.targets)
      if (t >= 0) wanted.push_back(t);
    Tensor rows = Tensor::empty({static_cast<int64_t>(wanted.size()), h.dim(1)}, h.dtype());
    for (int64_t t = 0, to = 0; t < h.dim(0); ++t)
      if (a.targets[static_cast<size_t>(t)] >= 0) rows.narrow(0, to++, 1).copy_from(h.narrow(0, t, 1));
    const Tensor logits = model.logits(tape, Var(rows)).value;
    const auto l = logits.view<const float, 2>();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const float* row = l.row(static_cast<int64_t>(i));
      right += std::max_element(row, row + l.shape[1]) - row == wanted[i];
    }
    asked += static_cast<int64_t>(wanted.size());
  }
  return static_cast<double>(right) / static_cast<double>(asked);
}

OptimizerConfig adamw() {
  OptimizerConfig c;
  c.matrices = object({{"type", Json("adamw")}, {"weight_decay", Json(0.01)}});
  c.embeddings = c.matrices;
  return c;
}

}  // namespace

Json association_model(const AssociationOptions& o, int64_t rows) {
  Json mixers = Json::object(), layers = Json::array();
  mixers.set("near", object({{"type", Json("attention")},
                             {"n_head", Json(int64_t{1})},
                             {"n_head_kv", Json(int64_t{1})},
                             {"head_dim", Json(kWidth)},
                             {"rotary_dims", Json(kWidth)},
                             {"window", Json(kWindow)}}));
  mixers.set("far", memory_mixer(o, rows));
  layers.push("near"), layers.push("far");
  return object({{"model_type", Json("hybrid")},
                 {"vocab_size", Json(kAssociationVocab)},
                 {"hidden_size", Json(kWidth)},
                 {"intermediate_size", Json(2 * kWidth)},
                 {"hidden_act", Json("gelu")},
                 {"gated", Json(false)},
                 {"mixers", mixers},
                 {"layers", layers}});
}

AssociationOutcome study_association(const Registry& registry, const AssociationOptions& o,
                                     const std::function<void(int64_t step, double loss)>& progress) {
  if (!o.test_rows.empty() && o.memory != "ovq")
    fail("memory '{}': only an OVQ memory can be asked with other rows than it learnt with", o.memory);
  if (o.train.empty() || o.test.empty())
    fail("nothing to remember: expected at least one number to learn and to ask");
  AssociationOutcome out;
  const auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<Model> model = build_model(registry, association_model(o, o.rows));
  start(*model, o.seed);
  out.parameters = parameter_count(*model);
  const std::vector<StateSite> sites = model->sites(DType::f32);
  for (const StatePart& p : sites.back().spec.parts) out.state_floats += element_count(p.shape);
  OptimizerGroups groups(*model, registry, adamw());
  const ScheduleConfig schedule{.shape = "linear",
                                .peak = o.rate,
                                .warmup = static_cast<double>(std::min(o.warmup, o.steps)),
                                .total = static_cast<double>(o.steps)};
  Rng random(o.seed, 1);
  uint64_t made = 0;
  for (int64_t step = 0; step < o.steps; ++step) {
    const auto choices =
        static_cast<uint64_t>(step < o.easy_steps ? std::min<size_t>(2, o.train.size()) : o.train.size());
    const int64_t n = o.train[random.below(choices)];
    const int64_t rows = std::clamp<int64_t>(kTrainTokens / association_length(o.task, n), 1, 64);
    const Associations a = make_associations(o.task, n, rows, o.seed + 0x10000, made);
    made += static_cast<uint64_t>(rows);
    zero_grad(*model);
    Tape tape;
    const Var h = model->hidden(tape, a.ids, batch_of(a));
    const Var loss = model->loss(tape, h, a.targets);
    tape.backward(loss);
    out.loss = loss.value.item();
    if (!std::isfinite(out.loss)) fail("step {}: the loss is {}; lower the learning rate", step, out.loss);
    groups.step({.lr = learning_rate(schedule, static_cast<double>(step + 1)),
                 .grad_scale = clip_scale(grad_norm(*model), 1.0)});
    if (progress) progress(step + 1, out.loss);
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::vector<int64_t> sizes = {o.rows};
  sizes.insert(sizes.end(), o.test_rows.begin(), o.test_rows.end());
  std::map<std::string, Tensor> learnt;
  model->visit("", [&](const std::string& name, Parameter& p) { learnt[name] = p.value; });
  for (int64_t rows : sizes) {
    std::unique_ptr<Model> asked = build_model(registry, association_model(o, rows));
    asked->visit("", [&](const std::string& name, Parameter& p) {
      const Tensor& value = learnt.at(name);
      QUERN_CHECK(value.shape() == p.shape, "{}", name);
      p.value = value;
    });
    AssociationOutcome::Row row{rows, {}};
    for (int64_t n : o.test) row.accuracy.push_back(accuracy(*asked, o, n));
    out.accuracy.push_back(std::move(row));
  }
  return out;
}

}  // namespace quern

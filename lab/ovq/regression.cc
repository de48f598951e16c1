#include "lab/ovq/regression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "lab/ovq/shuffle.h"
#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/ffn/dense/dense_ffn.h"
#include "quern/mixers/mixer.h"
#include "quern/nn/ops.h"

namespace quern::lab {
namespace {

constexpr uint64_t kTestSeed = 0x7e57;
constexpr double kNormEps = 1e-6;
using Point = std::array<double, kRegressionWidth>;

// Ridge regression kept up to date: A = Σ x xᵀ + λI, b = Σ x y; with λ = noise² / variance of a weight it is the
// mean of what the examples leave possible.
struct Ridge {
  std::array<Point, kRegressionWidth> a{};
  Point b{};
  Ridge() {
    for (size_t i = 0; i < a.size(); ++i) a[i][i] = kRegressionNoise * kRegressionNoise * kRegressionWidth;
  }
  void add(const Point& x, double y) {
    for (size_t i = 0; i < a.size(); ++i) {
      b[i] += x[i] * y;
      for (size_t j = 0; j < a.size(); ++j) a[i][j] += x[i] * x[j];
    }
  }
  double at(const Point& x) const {  // by Cholesky's factor
    std::array<Point, kRegressionWidth> l{};
    Point w = b;
    constexpr size_t n = kRegressionWidth;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j <= i; ++j) {
        double s = a[i][j];
        for (size_t k = 0; k < j; ++k) s -= l[i][k] * l[j][k];
        l[i][j] = i == j ? std::sqrt(s) : s / l[j][j];
      }
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0; k < i; ++k) w[i] -= l[i][k] * w[k];
      w[i] /= l[i][i];
    }
    for (size_t i = n; i-- > 0;) {
      for (size_t k = i + 1; k < n; ++k) w[i] -= l[k][i] * w[k];
      w[i] /= l[i][i];
    }
    return std::inner_product(w.begin(), w.end(), x.begin(), 0.0);
  }
};

class RegressionModel : public nn::Module {
 public:
  RegressionModel(const nn::Registry& registry, const MemoryOfStudy& memory, int64_t blocks, int64_t longest)
      : in_(kMemoryWidth, kRegressionFeatures, nn::Bias::no),
        out_(1, kMemoryWidth, nn::Bias::yes),
        norm_({kMemoryWidth}, grad::Init::constant(1)) {
    in_.weight.kind = grad::ParameterKind::embedding;  // few of its inputs are not 0
    for (int64_t b = 0; b < blocks; ++b)
      for (Json j : {near_mixer(), memory_mixer(memory, longest)}) {
        const std::string type = j.at("type").as_string();
        j.erase("type"), j.set("width", kMemoryWidth);
        layers_.push_back(std::make_unique<Layer>(registry.mixers.make(type, j)));
      }
  }
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override {
    in_.visit(prefix + "in", v);
    for (size_t i = 0; i < layers_.size(); ++i) {
      const std::string p = fmt::format("{}layers.{}.", prefix, i);
      v(p + "norm1.weight", layers_[i]->norm1);
      layers_[i]->mixer->visit(p + "mixer.", v);
      v(p + "norm2.weight", layers_[i]->norm2);
      layers_[i]->ffn.visit(p + "mlp.", v);
    }
    v(prefix + "norm.weight", norm_);
    out_.visit(prefix + "out", v);
  }
  grad::Var forward(grad::Tape& tape, const Tensor& features, const mixers::Batch& batch) {
    grad::Var r = nn::linear(tape, grad::Var(features), in_);
    int site = 0;
    for (auto& l : layers_) {
      r = nn::add(tape, r, l->mixer->forward(tape, nn::rms_norm(tape, r, l->norm1, kNormEps), batch, site++));
      ffn::DepthCarry none;
      r = nn::add(tape, r, l->ffn.forward(tape, nn::rms_norm(tape, r, l->norm2, kNormEps), none));
    }
    return nn::linear(tape, nn::rms_norm(tape, r, norm_, kNormEps), out_);
  }

 private:
  struct Layer {
    explicit Layer(std::unique_ptr<mixers::Mixer> m)
        : norm1({kMemoryWidth}, grad::Init::constant(1)),
          norm2({kMemoryWidth}, grad::Init::constant(1)),
          mixer(std::move(m)),
          ffn([] {
            ffn::DenseConfig c;
            c.width = kMemoryWidth, c.hidden = 2 * kMemoryWidth;
            c.act = kernels::Activation::gelu, c.gated = false;
            return c;
          }()) {}
    grad::Parameter norm1, norm2;
    std::unique_ptr<mixers::Mixer> mixer;
    ffn::DenseFfn ffn;
  };
  nn::Linear in_, out_;
  grad::Parameter norm_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

int64_t length_of(int64_t functions) { return 2 * functions * kRegressionExamples; }

mixers::Batch batch_of(const Regressions& a) {
  return mixers::Batch::documents(std::vector<int64_t>(static_cast<size_t>(a.rows), a.length));
}

// Mean square of what the model says beside what comes, where it is asked.
grad::Var mean_square(grad::Tape& tape, const grad::Var& said, const Regressions& a) {
  const int64_t n = a.rows * a.length;
  Tensor minus = Tensor::empty({n, 1}, DType::f32), mask = Tensor::empty({n, 1}, DType::f32);
  double asked = 0;
  for (int64_t t = 0; t < n; ++t) {
    const auto at = static_cast<size_t>(t);
    minus.data<float>()[t] = -a.targets[at];
    mask.data<float>()[t] = a.seen[at] >= 0 ? 1.0f : 0.0f;
    asked += a.seen[at] >= 0;
  }
  const grad::Var miss = nn::mul(tape, nn::add(tape, said, grad::Var(minus)), grad::Var(mask));
  return nn::scale(tape, nn::sum(tape, nn::mul(tape, miss, miss)), 1 / asked);
}

using Errors = std::vector<double>;  // by examples seen

struct Asked {
  Errors model, ridge;
};

Asked ask(RegressionModel& model, const RegressionOptions& o, int64_t functions) {
  Asked out{Errors(kRegressionExamples, 0.0), Errors(kRegressionExamples, 0.0)};
  const int64_t at_once = std::max<int64_t>(1, 4096 / length_of(functions));
  for (int64_t first = 0; first < o.test_sequences; first += at_once) {
    const Regressions a = make_regressions(functions, std::min(at_once, o.test_sequences - first), kTestSeed,
                                           static_cast<uint64_t>(functions * 1000000 + first));
    grad::Tape tape(grad::Tape::inference);
    const Tensor said = model.forward(tape, a.features, batch_of(a)).value;
    for (size_t t = 0; t < a.seen.size(); ++t) {
      if (a.seen[t] < 0) continue;
      const auto after = static_cast<size_t>(a.seen[t]);
      out.model[after] += std::pow(said.item(static_cast<int64_t>(t)) - a.targets[t], 2);
      out.ridge[after] += std::pow(a.ridge[t] - a.targets[t], 2);
    }
  }
  for (Errors* e : {&out.model, &out.ridge})
    for (double& x : *e) x /= static_cast<double>(o.test_sequences * functions);
  return out;
}

}  // namespace

Regressions make_regressions(int64_t functions, int64_t rows, uint64_t seed, uint64_t first) {
  if (functions < 1 || functions > kRegressionTags)
    fail("{} functions, expected 1 … {}: each has a tag of its own", functions, kRegressionTags);
  Regressions a{rows, length_of(functions), {}, {}, {}, {}};
  const int64_t n = rows * a.length;
  a.features = Tensor::zeros({n, kRegressionFeatures}, DType::f32);
  a.targets.resize(static_cast<size_t>(n)), a.ridge.resize(static_cast<size_t>(n));
  a.seen.resize(static_cast<size_t>(n), -1);
  int64_t t = 0;
  for (int64_t r = 0; r < rows; ++r) {
    Rng random(seed, first + static_cast<uint64_t>(r));
    std::vector<int64_t> tags(kRegressionTags), order;
    std::iota(tags.begin(), tags.end(), int64_t{0});
    shuffle(tags, random);
    std::vector<Point> weights(static_cast<size_t>(functions));
    for (Point& w : weights)
      for (double& x : w) x = random.normal() / std::sqrt(static_cast<double>(kRegressionWidth));
    for (int64_t i = 0; i < functions * kRegressionExamples; ++i) order.push_back(i % functions);
    shuffle(order, random);
    std::vector<Ridge> ridge(weights.size());
    std::vector<int32_t> seen(weights.size(), 0);
    for (int64_t f : order) {
      const auto of = static_cast<size_t>(f);
      Point x;
      for (double& v : x) v = random.normal();
      const double y =
          std::inner_product(x.begin(), x.end(), weights[of].begin(), 0.0) + kRegressionNoise * random.normal();
      const auto at = static_cast<size_t>(t);
      float* ask = a.features.data<float>() + t * kRegressionFeatures;
      std::copy(x.begin(), x.end(), ask);
      ask[kRegressionWidth + 2 + tags[of]] = 1;
      ask[kRegressionFeatures + kRegressionWidth] = static_cast<float>(y);
      ask[kRegressionFeatures + kRegressionWidth + 1] = 1;
      a.targets[at] = static_cast<float>(y), a.seen[at] = seen[of]++;
      a.ridge[at] = static_cast<float>(ridge[of].at(x));
      ridge[of].add(x, y);
      t += 2;
    }
  }
  return a;
}

RegressionOutcome study_regression(const nn::Registry& registry, const RegressionOptions& o,
                                   const std::function<void(int64_t step, double loss)>& progress) {
  if (!o.test_rows.empty() && o.memory.kind != "ovq")
    fail("memory '{}': only an OVQ memory can be tested with other numbers of rows than it was trained with",
         o.memory.kind);
  if (o.train.empty() || o.test.empty()) fail("no functions: expected at least one number to learn and to ask");
  const int64_t longest = length_of(
      std::max(*std::max_element(o.train.begin(), o.train.end()), *std::max_element(o.test.begin(), o.test.end())));
  RegressionOutcome out;
  const Stopwatch watch;
  RegressionModel model(registry, o.memory, o.blocks, longest);
  start_weights(model, o.seed);
  Rng random(o.seed, 1);
  uint64_t made = 0;
  auto loss = [&](grad::Tape& tape, int64_t step) {
    const auto choices =
        static_cast<uint64_t>(step < o.easy_steps ? std::min<size_t>(2, o.train.size()) : o.train.size());
    const int64_t functions = o.train[random.below(choices)];
    const int64_t rows = std::clamp<int64_t>(kLessonTokens / length_of(functions), 1, 64);
    const Regressions a = make_regressions(functions, rows, o.seed + 0x10000, made);
    made += static_cast<uint64_t>(rows);
    return mean_square(tape, model.forward(tape, a.features, batch_of(a)), a);
  };
  out.loss = learn(model, registry, o.lessons, loss, progress);
  out.seconds = watch.seconds();
  std::vector<int64_t> sizes = {o.memory.rows};
  sizes.insert(sizes.end(), o.test_rows.begin(), o.test_rows.end());
  std::map<std::string, Tensor> learned;
  model.visit("", [&](const std::string& name, grad::Parameter& p) { learned[name] = p.value; });
  for (int64_t rows : sizes) {
    MemoryOfStudy memory = o.memory;
    memory.rows = rows;
    RegressionModel asked(registry, memory, o.blocks, longest);
    asked.visit("", [&](const std::string& name, grad::Parameter& p) {
      const Tensor& value = learned.at(name);
      QUERN_CHECK(value.shape() == p.shape, "{}", name);
      p.value = value;
    });
    RegressionOutcome::Row row{rows, {}};
    for (int64_t functions : o.test) {
      Asked a = ask(asked, o, functions);
      row.error.push_back(std::move(a.model));
      if (out.asked.empty()) out.ridge.push_back(std::move(a.ridge));
    }
    out.asked.push_back(std::move(row));
  }
  return out;
}

}  // namespace quern::lab

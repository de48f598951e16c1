#include "quern/models/mixed_precision.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/quant/quant_layout.h"
#include "quern/kernels/softmax/softmax.h"
#include "quern/models/checkpoint.h"
#include "quern/models/token_ids.h"

namespace quern::models {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDocument = 512;    // tokens
constexpr int64_t kLogitRows = 128;  // at a time
const kernels::QuantFormat kHigh{kernels::WeightFormat::q8};

int64_t bytes_of(const QuantizedShape::Matrix& m, const kernels::QuantFormat& s) {
  return kernels::QuantLayout(m.n, m.k, s).bytes();
}

// Writes down what a model asks for. All matrices share one blob, whose values nothing reads.
class ShapeRecorder : public nn::PrepackHook {
 public:
  kernels::PrepackedWeight matrix(const std::string& name, int64_t n, int64_t k, const kernels::QuantFormat& s,
                                  const std::function<Tensor()>&) override {
    const int64_t bytes = kernels::QuantLayout(n, k, s).bytes();
    if (!blob_.defined() || blob_.bytes() < bytes) blob_ = Tensor::empty({bytes}, DType::u8);
    matrices.push_back({name, n, k, s});
    return kernels::QuantLinear::view(blob_.narrow(0, 0, bytes), n, k, s, name);
  }
  bool stored() const override { return true; }
  bool leaves_dense() const override { return true; }
  std::vector<QuantizedShape::Matrix> matrices;

 private:
  Tensor blob_;
};

// Packs one group in 4 bits and all others in bf16.
class GroupProbe : public nn::PrepackHook {
 public:
  GroupProbe(const MatrixGroup* group, size_t matrices) : low_(matrices) {
    if (group)
      for (const size_t i : group->matrices) low_[i] = true;
  }
  kernels::PrepackedWeight matrix(const std::string&, int64_t, int64_t, const kernels::QuantFormat& s,
                                  const std::function<Tensor()>& plain) override {
    const size_t i = next_++;
    return kernels::PrepackedWeight::pack(plain(),
                                          i < low_.size() && low_[i] ? s : kernels::QuantFormat(DType::bf16));
  }

 private:
  std::vector<bool> low_;
  size_t next_ = 0;
};

// Calls rows(first token, logits [n, V]) through the text.
void each_logits(Model& model, std::span<const int32_t> text,
                 const std::function<void(int64_t, View<const float, 2>)>& rows) {
  for (size_t at = 0; at < text.size(); at += kDocument) {
    const std::span<const int32_t> ids = text.subspan(at, std::min(kDocument, text.size() - at));
    const auto n = static_cast<int64_t>(ids.size());
    grad::Tape tape(grad::Tape::inference);
    const Tensor hidden = model.hidden(tape, ids, mixers::Batch::single(n)).value;
    for (int64_t begin = 0; begin < n; begin += kLogitRows) {
      grad::Tape head(grad::Tape::inference);
      const grad::Var part(hidden.narrow(0, begin, std::min(kLogitRows, n - begin)));
      const Tensor logits = model.logits(head, part).value.to(DType::f32);
      rows(static_cast<int64_t>(at) + begin, logits.view<const float, 2>());
    }
  }
}

// Log-probabilities of every token of the text, [T, V].
Tensor log_probabilities(Model& model, std::span<const int32_t> text) {
  Tensor out = Tensor::empty({static_cast<int64_t>(text.size()), model.vocab_size()}, DType::f32);
  each_logits(model, text, [&](int64_t first, View<const float, 2> logits) {
    const int64_t n = logits.shape[0], vocab = logits.shape[1];
    Tensor lse = Tensor::empty({n}, DType::f32);
    kernels::log_sum_exp<float>(logits, lse.view<float, 1>());
    for (int64_t t = 0; t < n; ++t)
      for (int64_t v = 0; v < vocab; ++v)
        out.data<float>()[(first + t) * vocab + v] = logits.row(t)[v] - lse.data<float>()[t];
  });
  return out;
}

// Mean KL of the model's distributions from those.
double mean_kl(Model& model, std::span<const int32_t> text, const Tensor& log_p) {
  const int64_t vocab = log_p.dim(1);
  std::vector<double> kl(text.size());
  each_logits(model, text, [&](int64_t first, View<const float, 2> logits) {
    Tensor lse = Tensor::empty({logits.shape[0]}, DType::f32);
    kernels::log_sum_exp<float>(logits, lse.view<float, 1>());
    parallel_for(logits.shape[0], 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const float *p = log_p.data<float>() + (first + t) * vocab, *q = logits.row(t);
        const auto whole = static_cast<double>(lse.data<float>()[t]);
        double sum = 0;
        for (int64_t v = 0; v < vocab; ++v) {
          const auto log_pv = static_cast<double>(p[v]);
          if (log_pv > -40) sum += std::exp(log_pv) * (log_pv - (static_cast<double>(q[v]) - whole));
        }
        kl[static_cast<size_t>(first + t)] = sum;
      }
    });
  });
  return std::accumulate(kl.begin(), kl.end(), 0.0) / static_cast<double>(text.size());
}

// A name without the number of the expert at its end.
std::string group_name(const std::string& name) {
  const size_t dot = name.rfind('.');
  const bool numbered = dot != name.npos && dot + 1 < name.size() &&
                        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1, name.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
  return numbered ? name.substr(0, dot) : name;
}

// The layer that a name is of; -1 for none.
int64_t layer_of(const std::string& name) {
  const size_t at = name.find("layers.");
  return at == name.npos ? -1 : std::atoll(name.c_str() + at + 7);
}

}  // namespace

int64_t QuantizedShape::weights() const {
  int64_t sum = 0;
  for (const Matrix& m : matrices) sum += m.n * m.k;
  return sum;
}

int64_t QuantizedShape::bytes() const {
  int64_t sum = 0;
  for (const Matrix& m : matrices) sum += bytes_of(m, m.format);
  return sum;
}

QuantizedShape quantized_shape(Model& model, const kernels::QuantFormat& body, const kernels::QuantFormat& head) {
  // Values that are never read: memory that is not touched costs nothing.
  int64_t largest = 1;
  model.visit("",
              [&](const std::string&, grad::Parameter& p) { largest = std::max(largest, element_count(p.shape)); });
  const Tensor values = Tensor::empty({largest}, DType::bf16);
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    p.value = p.matrix ? values.narrow(0, 0, element_count(p.shape)).reshape(p.shape)
                       : nn::initial_value(p, name, 1, DType::f32);
  });
  ShapeRecorder recorder;
  model.pack(nn::WeightPrepacking(body, head, &recorder));
  QuantizedShape shape{std::move(recorder.matrices), {}};
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (p.value.defined()) shape.plain.emplace_back(name, p.shape);
  });
  return shape;
}

int64_t header_bytes(const QuantizedShape& shape) {
  int64_t bytes = 4096;
  for (const QuantizedShape::Matrix& m : shape.matrices) bytes += 512 + static_cast<int64_t>(m.name.size());
  for (const auto& [name, of] : shape.plain) bytes += 256 + static_cast<int64_t>(name.size());
  return bytes;
}

std::vector<MatrixGroup> matrix_groups(const QuantizedShape& shape, const kernels::QuantFormat& low) {
  std::vector<MatrixGroup> groups;
  for (size_t i = 0; i < shape.matrices.size(); ++i) {
    const QuantizedShape::Matrix& m = shape.matrices[i];
    if (!(m.format == low)) continue;
    const std::string name = group_name(m.name);
    if (groups.empty() || groups.back().name != name) groups.emplace_back().name = name;
    MatrixGroup& g = groups.back();
    g.matrices.push_back(i), g.weights += m.n * m.k, g.added += bytes_of(m, kHigh) - bytes_of(m, low);
  }
  return groups;
}

void measure_sensitivity(const nn::Registry& registry, const fs::path& from, const SensitivityOptions& o,
                         std::vector<MatrixGroup>& groups) {
  size_t matrices = 0;
  for (const MatrixGroup& g : groups) matrices = std::max(matrices, g.matrices.back() + 1);
  const auto with = [&](const MatrixGroup* group) {
    GroupProbe probe(group, matrices);
    return load_model(registry, from, {.scheme = o.body, .head = o.head, .hook = &probe});
  };
  Tensor log_p;
  {
    const std::unique_ptr<Model> exact = with(nullptr);
    check_token_ids(o.text, exact->vocab_size(), "sensitivity text");
    log_p = log_probabilities(*exact, o.text);
  }
  for (MatrixGroup& g : groups) {
    g.kl = mean_kl(*with(&g), o.text, log_p);
    if (o.progress) o.progress(g);
  }
}

int default_rank(const std::string& name, int64_t layers) {
  for (const char* part : {"dt_proj", "x_proj", "adapter", "router"})
    if (name.find(part) != name.npos) return 0;
  const int64_t layer = layer_of(name), edge = std::max<int64_t>(1, layers / 8);
  return layer >= 0 && (layer < edge || layer >= layers - edge) ? 1 : 2;
}

void check_budget(const QuantizedShape& shape, const std::vector<MatrixGroup>& groups, int64_t budget) {
  int64_t bytes = shape.bytes();
  for (const MatrixGroup& g : groups) bytes += std::min<int64_t>(0, g.added);
  if (bytes > budget)
    fail("mixed precision: 4 bits throughout take {} bytes of matrices, the budget leaves {} for them; allow more",
         bytes, std::max<int64_t>(0, budget));
}

void raise_groups(QuantizedShape& shape, std::vector<MatrixGroup>& groups, int64_t budget) {
  check_budget(shape, groups, budget);
  int64_t bytes = shape.bytes(), layers = 0;
  for (const MatrixGroup& g : groups) layers = std::max(layers, layer_of(g.name) + 1);
  const auto per_byte = [](const MatrixGroup& g) { return *g.kl / static_cast<double>(g.added); };
  std::vector<MatrixGroup*> order;
  for (MatrixGroup& g : groups) order.push_back(&g);
  std::stable_sort(order.begin(), order.end(), [&](const MatrixGroup* a, const MatrixGroup* b) {
    if ((a->added <= 0) != (b->added <= 0)) return a->added <= 0;  // these cost nothing
    if (a->added > 0 && a->kl && b->kl) return per_byte(*a) > per_byte(*b);
    const int rank_a = default_rank(a->name, layers), rank_b = default_rank(b->name, layers);
    return rank_a != rank_b ? rank_a < rank_b : a->added < b->added;
  });
  for (MatrixGroup* g : order) {
    if (g->added > 0 && bytes + g->added > budget) continue;
    bytes += g->added, g->raised = true;
    for (const size_t i : g->matrices) shape.matrices[i].format = kHigh;
  }
}

}  // namespace quern::models

#include "quern/train/trainer/gradients.h"

#include <cmath>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/optim/clip.h"
#include "quern/trace/trace.h"

namespace quern::train {
namespace {

// Around a step's forward and backward alone: evaluation, which ranks do each for themselves, shares no experts.
class SharedExperts {
 public:
  SharedExperts(models::Model& model, comm::Communicator* group) : model_(model), shared_(group != nullptr) {
    if (group && !model.share_experts(group))
      fail("parallel.experts = {}: {} has no experts", group->size(), model.family());
  }
  ~SharedExperts() {
    if (shared_) model_.share_experts(nullptr);
  }
  SharedExperts(const SharedExperts&) = delete;
  SharedExperts& operator=(const SharedExperts&) = delete;

 private:
  models::Model& model_;
  bool shared_;
};

}  // namespace

grad::Precision precision_of(const Recipe& recipe) {
  return recipe.dtype == "bf16" ? grad::Precision::bf16 : grad::Precision::f32;
}

BackwardResult backward(TrainedModel& trained, const Objective& objective, std::span<const MicroBatch> batches,
                        const BackwardOptions& o) {
  models::Model& model = trained.model();
  ZeroShards* shards = trained.shards();
  const SharedExperts sharing(model, o.experts);
  BackwardResult out;
  Stopwatch clock;
  models::TrainedAdapter* adapter = trained.adapter();
  for (const MicroBatch& b : batches) {
    if (adapter) adapter->draw(Rng(o.draw).bits(static_cast<uint64_t>(&b - batches.data())) | 1);
    const double share = static_cast<double>(b.weight) / static_cast<double>(o.weight);
    grad::Tape tape(grad::Tape::training, o.precision);
    tape.recompute_layers = o.recompute;
    if (shards) tape.on_parameter = [shards](grad::Parameter& p) { shards->need(p); };
    const grad::Var loss = [&] {
      const trace::Span span(trace::Kind::part, "forward");
      return objective(tape, model, b);
    }();
    if (b.weight > 0) out.loss += share * loss.value.item();
    out.forward_s += clock.lap();
    const trace::Span span(trace::Kind::part, "backward");
    if (shards && &b == &batches.back()) tape.on_grad_ready = [shards](grad::Parameter& p) { shards->ready(p); };
    tape.backward(loss, share);
    out.backward_s += clock.lap();
  }
  if (adapter) adapter->draw(0);
  return out;
}

double reduce_gradients(TrainedModel& trained, const RankGroups& ranks, int64_t two_level_from, double loss) {
  comm::Communicator& comm = ranks.all;
  ZeroShards* shards = trained.shards();
  if (shards) shards->finish();
  loss = comm.all_reduce(loss);
  if (comm.size() == 1) return loss;
  std::vector<grad::Parameter*> all;
  std::vector<int64_t> has;
  trained.learner().visit("", [&](const std::string&, grad::Parameter& p) {
    if (shards && shards->holds(p)) return;  // summed already
    all.push_back(&p);
    has.push_back(p.grad.defined());
  });
  comm.all_reduce(has, comm::ReduceOp::max);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!has[i]) continue;
    if (!all[i]->grad.defined()) all[i]->grad = Tensor::zeros(all[i]->shape, DType::f32);
    const bool two = ranks.levels && all[i]->grad.bytes() >= two_level_from;
    two ? ranks.levels->all_reduce(all[i]->grad) : comm.all_reduce(all[i]->grad);
  }
  return loss;
}

double gradient_norm(TrainedModel& trained) {
  const double whole = optim::grad_norm(trained.learner());  // of what no shard holds, where there are shards
  const ZeroShards* shards = trained.shards();
  return shards ? std::sqrt(whole * whole + shards->sum_of_grad_squares()) : whole;
}

std::optional<double> load_balance(const std::vector<std::span<const float>>& loads) {
  double sum = 0;
  int64_t layers = 0;
  for (std::span<const float> load : loads) {
    double total = 0, entropy = 0;
    for (float n : load) total += n;
    if (total == 0 || load.size() < 2) continue;
    for (float n : load)
      if (n > 0) entropy -= n / total * std::log(n / total);
    sum += entropy / std::log(static_cast<double>(load.size())), ++layers;
  }
  return layers > 0 ? std::optional(sum / static_cast<double>(layers)) : std::nullopt;
}

}  // namespace quern::train

#include "quern/train/distill/distill_source.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/models/checkpoint.h"
#include "quern/train/distill/distill_loss.h"
#include "quern/train/trainer/export.h"

namespace quern::train {
namespace {

struct Teacher {
  DistillConfig settings;
  std::unique_ptr<models::Model> model;
};

std::unique_ptr<Teacher> load_teacher(const SourceRequest& r, const nn::Registry& registry) {
  auto out = std::make_unique<Teacher>(Teacher{r.recipe.phase[r.phase].distill, nullptr});
  models::LoadOptions o;
  const std::string& format = out->settings.format;
  if (format == "f32" || format == "bf16")
    o.dtype = format == "f32" ? DType::f32 : DType::bf16;
  else
    o.scheme = kernels::QuantFormat(kernels::parse_format(format, "distill.format"));
  out->model = models::load_model(registry, r.recipe.base / out->settings.teacher, o);
  const std::filesystem::path own = tokenizer_source(r.recipe) / "tokenizer.json",
                              theirs = r.recipe.base / out->settings.teacher / "tokenizer.json";
  if (std::filesystem::exists(own) && std::filesystem::exists(theirs) && read_file(own) != read_file(theirs))
    fail("distill.teacher: {} is another tokenizer than {}: a teacher and its student need the same one",
         theirs.string(), own.string());
  if (out->model->vocab_size() != r.model.vocab_size())
    fail("distill.teacher {}: has {} tokens, the model that learns {}: both need the same tokenizer",
         out->settings.teacher, out->model->vocab_size(), r.model.vocab_size());
  return out;
}

// Rows of the recipe's data; what is learned from them is no likelihood of a text.
class DistillSource : public BatchSource {
 public:
  DistillSource(std::unique_ptr<BatchSource> data, const DistillConfig& c) : data_(std::move(data)), settings_(c) {}
  StepBatches next(int64_t rows) override { return data_->next(rows); }
  int64_t consumed() const override { return data_->consumed(); }
  void seek(int64_t consumed) override { data_->seek(consumed); }
  std::string describe() const override {
    return data_->describe() + fmt::format("teacher {}: {} KL of {} words, weight {}, temperature {}\n",
                                           settings_.teacher, settings_.direction,
                                           settings_.top == 0 ? "all" : fmt::format("{}", settings_.top),
                                           settings_.weight, settings_.temperature);
  }
  Json state() override { return data_->state(); }
  void restore(const Json& state) override { data_->restore(state); }
  void report(StepMetrics& m) override {
    data_->report(m);
    m.bpb.reset();
  }
  bool samples_from_model() const override { return data_->samples_from_model(); }
  std::optional<SetLoss> evaluate(const data::DataSetConfig& set) override { return data_->evaluate(set); }

 private:
  std::unique_ptr<BatchSource> data_;
  DistillConfig settings_;
};

grad::Var loss_of(grad::Tape& tape, models::Model& student, const Teacher& teacher, const MicroBatch& b) {
  grad::Tape frozen(grad::Tape::inference, tape.precision());
  const Tensor seen = teacher.model->hidden(frozen, b.tokens, b.batch).value;
  const double share = 1 / static_cast<double>(std::max<int64_t>(1, b.weight));
  const kernels::RowsObjective rows = [&](int64_t begin, View<float, 2> logits) {
    grad::Tape head(grad::Tape::inference, tape.precision());
    const Tensor theirs = teacher.model->logits(head, seen.narrow(0, begin, logits.shape[0])).value.to(DType::f32);
    return distill_rows(
        teacher.settings, theirs.view<const float, 2>(), logits,
        std::span(b.targets).subspan(static_cast<size_t>(begin), static_cast<size_t>(logits.shape[0])), share);
  };
  const kernels::TokenObjective none;
  return student.objective(tape, student.hidden(tape, b.tokens, b.batch), {b.targets, none, 1, &rows});
}

}  // namespace

TrainOptions with_distillation(TrainOptions options, const nn::Registry& registry) {
  auto teacher = std::make_shared<std::unique_ptr<Teacher>>();
  options.source = [=, &registry, other = options.source](const SourceRequest& r) -> std::unique_ptr<BatchSource> {
    teacher->reset();
    if (!r.recipe.phase[r.phase].distill.on()) return other(r);
    *teacher = load_teacher(r, registry);
    return std::make_unique<DistillSource>(other(r), (*teacher)->settings);
  };
  options.objective = [=, other = options.objective](grad::Tape& tape, models::Model& model, const MicroBatch& b) {
    return *teacher ? loss_of(tape, model, **teacher, b) : other(tape, model, b);
  };
  return options;
}

}  // namespace quern::train

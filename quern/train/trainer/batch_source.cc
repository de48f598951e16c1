#include "quern/train/trainer/batch_source.h"

#include "quern/base/error.h"

namespace quern::train {
namespace {

class RecipeSource : public BatchSource {
 public:
  explicit RecipeSource(const SourceRequest& r)
      : recipe_(r.recipe),
        phase_(r.recipe.phase[r.phase]),
        ranks_(r.ranks),
        model_(r.model),
        loader_(phase_.data, phase_.sequence_length, static_cast<uint64_t>(recipe_.seed) + r.phase, recipe_.base) {}

  StepBatches next(int64_t rows) override {
    const mixers::ContextParallelKind form = recipe_.parallel.context_form == "ring"
                                                 ? mixers::ContextParallelKind::ring
                                                 : mixers::ContextParallelKind::gather;
    comm::Communicator* context = ranks_.context.get();
    StepBatches out;
    for (data::TokenBatch& b : draw(rows)) {
      check_tokens(b, model_, fmt::format("phase '{}'", phase_.name));
      const auto tokens = static_cast<int64_t>(b.tokens.size());
      if (!context || context->rank() == 0) out.tokens += tokens;
      if (context && tokens < 2 * context->size())
        fail("parallel.context = {}: a micro-batch of {} tokens cannot be cut into {} chunks", context->size(),
             tokens, 2 * context->size());
      // Ranks that share experts all run every micro-batch: one without targets has tokens for the others' experts.
      if (b.loss_tokens > 0 || ranks_.experts) out.micro.push_back(micro_batch(std::move(b), context, form));
    }
    return out;
  }
  int64_t consumed() const override { return loader_.consumed(); }
  void seek(int64_t consumed) override { loader_.seek(consumed); }
  std::string describe() const override { return loader_.describe(); }

 private:
  // This group's rows. All rows are drawn by every rank, so that all count the same as consumed.
  std::vector<data::TokenBatch> draw(int64_t rows) {
    if (ranks_.experts && rows % ranks_.groups != 0)
      fail("parallel.experts = {}: the {} rows of a step cannot be dealt evenly to {} ranks or groups of them",
           recipe_.parallel.experts, rows, ranks_.groups);
    const int64_t first = rows * ranks_.group / ranks_.groups, end = rows * (ranks_.group + 1) / ranks_.groups;
    const int64_t maximum = phase_.micro_batch_size;
    std::vector<data::TokenBatch> out;
    for (int64_t r = 0; r < rows; ++r) {
      if (r < first || r >= end) {
        loader_.next(1, 0, 2);  // drawn, but put together by another rank
        continue;
      }
      if (out.empty() || (maximum > 0 && out.back().rows >= maximum)) out.emplace_back();
      out.back().add(loader_.next(1));
    }
    return out;
  }

  const Recipe& recipe_;
  const PhaseConfig& phase_;
  const RankGroups& ranks_;
  models::Model& model_;
  data::Loader loader_;
};

}  // namespace

int64_t StepBatches::weight() const {
  int64_t n = 0;
  for (const MicroBatch& m : micro) n += m.weight;
  return n;
}

std::unique_ptr<BatchSource> recipe_source(const SourceRequest& request) {
  return std::make_unique<RecipeSource>(request);
}

MicroBatch micro_batch(data::TokenBatch b, comm::Communicator* context, mixers::ContextParallelKind form) {
  MicroBatch m;
  if (!context) {
    m.batch = mixers::Batch::documents(b.lengths), m.weight = b.loss_tokens;
    m.tokens = std::move(b.tokens), m.targets = std::move(b.targets);
    return m;
  }
  m.context = std::make_unique<mixers::ContextParallel>(*context, b.lengths, form);
  m.batch = m.context->batch();
  for (int64_t row : m.context->rows()) {
    const auto i = static_cast<size_t>(row);
    m.tokens.push_back(b.tokens[i]), m.targets.push_back(b.targets[i]);
    m.weight += b.targets[i] >= 0;
  }
  return m;
}

void check_tokens(const data::TokenBatch& b, const models::Model& model, const std::string& where) {
  for (int32_t t : b.tokens)
    if (t < 0 || t >= model.vocab_size())
      fail("{}: the data holds token {}, the model's vocabulary ends at {}: were both made with the same tokenizer?",
           where, t, model.vocab_size() - 1);
}

void check_data(const Recipe& r) {
  for (const PhaseConfig& p : r.phase)
    if (!p.data.empty() && !p.preference.on()) data::Loader(p.data, p.sequence_length, 0, r.base);
  std::vector<data::DataSetConfig> texts;
  for (const data::DataSetConfig& set : r.eval.data)
    if (!holds_pairs(r.base / set.path)) texts.push_back(set);
  if (!texts.empty()) data::Loader(texts, r.eval_sequence_length(), 0, r.base);
}

}  // namespace quern::train

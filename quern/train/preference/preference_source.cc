#include "quern/train/preference/preference_source.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/train/preference/preference_reference.h"
#include "quern/train/trainer/gradients.h"

namespace quern::train {
namespace {

grad::Var loss_of(grad::Tape& tape, models::Model& model, const MicroBatch& b, const PreferenceConfig& c,
                  PreferenceStats& stats) {
  const grad::Var hidden = model.hidden(tape, b.tokens, b.batch);
  return preference_loss(
      tape, hidden, {b.targets, b.batch.offsets, *b.reference}, c,
      [&](grad::Tape& t, const grad::Var& h, const nn::HeadTerms& terms) { return model.objective(t, h, terms); },
      stats);
}

class PreferenceSource : public BatchSource {
 public:
  PreferenceSource(const SourceRequest& r, std::filesystem::path run, std::shared_ptr<PreferenceStats> stats)
      : recipe_(r.recipe),
        phase_(r.recipe.phase[r.phase]),
        ranks_(r.ranks),
        model_(r.model),
        file_(std::move(run) / fmt::format("reference-{}.safetensors", r.phase)),
        seed_(static_cast<uint64_t>(r.recipe.seed) + r.phase),
        stats_(std::move(stats)) {
    for (const data::DataSetConfig& set : phase_.data) sets_.emplace_back(recipe_.base / set.path);
    learned_ = sets_.size();
    for (const data::DataSetConfig& set : recipe_.eval.data)
      if (holds_pairs(recipe_.base / set.path)) sets_.emplace_back(recipe_.base / set.path);
    for (size_t s = 0; s < sets_.size(); ++s) {
      check_set(s);
      for (int64_t i = 0; s < learned_ && i < sets_[s].pairs(); ++i) pairs_.push_back({s, i});
    }
  }

  StepBatches next(int64_t rows) override {
    need_reference();
    *stats_ = {};
    const int64_t first = rows * ranks_.group / ranks_.groups, end = rows * (ranks_.group + 1) / ranks_.groups;
    std::vector<Pair> mine;
    for (int64_t r = 0; r < rows; ++r, ++consumed_)
      if (const Pair p = at(consumed_); r >= first && r < end) mine.push_back(p);
    StepBatches out;
    const auto most =
        static_cast<size_t>(phase_.micro_batch_size > 0 ? phase_.micro_batch_size : std::max<int64_t>(1, rows));
    for (size_t i = 0; i < mine.size(); i += most) {
      out.micro.push_back(batch(std::span(mine).subspan(i, std::min(most, mine.size() - i))));
      out.tokens += static_cast<int64_t>(out.micro.back().tokens.size());
    }
    return out;
  }
  int64_t consumed() const override { return consumed_; }
  void seek(int64_t consumed) override { consumed_ = consumed, began_ = consumed > 0; }
  bool samples_from_model() const override { return true; }
  std::string describe() const override {
    return fmt::format("{} pairs of answers, {}: beta {}, label smoothing {}\n", pairs_.size(),
                       phase_.preference.loss, phase_.preference.beta, phase_.preference.label_smoothing);
  }
  void report(StepMetrics& m) override {
    stats_->all_reduce(ranks_.all);
    m.chosen_reward = stats_->mean(stats_->chosen), m.rejected_reward = stats_->mean(stats_->rejected);
    m.margin = stats_->mean(stats_->chosen - stats_->rejected), m.accuracy = stats_->mean(stats_->right);
    m.bpb.reset();  // the loss is no likelihood of a text
  }
  std::optional<SetLoss> evaluate(const data::DataSetConfig& set) override {
    const auto s = static_cast<size_t>(std::ranges::find(sets_.begin() + static_cast<std::ptrdiff_t>(learned_),
                                                         sets_.end(), recipe_.base / set.path,
                                                         [](const PreferenceData& d) { return d.prefix(); }) -
                                       sets_.begin());
    if (s == sets_.size()) return {};
    need_reference();
    PreferenceStats all;
    const int64_t pairs = std::min(sets_[s].pairs(), recipe_.eval.sequences);
    for (int64_t i = ranks_.all.rank(); i < pairs; i += ranks_.all.size()) {
      grad::Tape tape(grad::Tape::inference, precision_of(recipe_));
      const Pair one{s, i};
      loss_of(tape, model_, batch({&one, 1}), phase_.preference, all);
    }
    all.all_reduce(ranks_.all);
    return SetLoss{.set = set.path,
                   .loss = all.mean(all.loss),
                   .bits_per_byte = {},
                   .margin = all.mean(all.chosen - all.rejected),
                   .accuracy = all.mean(all.right)};
  }

 private:
  struct Pair {
    size_t set;
    int64_t index;
  };

  void check_set(size_t s) const {
    const PreferenceData& set = sets_[s];
    for (int64_t i = 0; i < set.pairs(); ++i) {
      PreferenceData::Rows rows;
      set.append(i, rows);
      for (int32_t t : rows.tokens)
        if (t < 0 || t >= model_.vocab_size())
          fail("{}: token {}, the model's vocabulary ends at {}: were both made with the same tokenizer?",
               set.prefix().string(), t, model_.vocab_size() - 1);
      if (*std::max_element(rows.lengths.begin(), rows.lengths.end()) > phase_.sequence_length)
        fail("{}: pair {} has {} tokens in an answer and its prompt, sequence_length is {}", set.prefix().string(), i,
             *std::max_element(rows.lengths.begin(), rows.lengths.end()), phase_.sequence_length);
    }
  }

  // The pair that is drawn n-th: every pass has an order of its own.
  Pair at(int64_t n) {
    const auto size = static_cast<int64_t>(pairs_.size()), pass = n / size;
    if (pass != pass_) {
      order_.resize(pairs_.size());
      std::iota(order_.begin(), order_.end(), size_t{0});
      Rng random(seed_, static_cast<uint64_t>(pass));
      for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
      pass_ = pass;
    }
    return pairs_[order_[static_cast<size_t>(n % size)]];
  }

  MicroBatch batch(std::span<const Pair> pairs) const {
    PreferenceData::Rows rows;
    std::vector<double> reference;
    for (const Pair& p : pairs) {
      sets_[p.set].append(p.index, rows);
      for (int64_t d : {2 * p.index, 2 * p.index + 1})
        reference.push_back(reference_.at(p.set).at(static_cast<size_t>(d)));
    }
    MicroBatch m;
    m.tokens = std::move(rows.tokens), m.targets = std::move(rows.targets);
    m.batch = mixers::Batch::documents(std::move(rows.lengths));
    m.weight = static_cast<int64_t>(pairs.size());
    m.reference = std::make_shared<const std::vector<double>>(std::move(reference));
    return m;
  }

  // Before the first pair the model is what the phase begins with; later the file of that moment says what it was.
  void need_reference() {
    if (!reference_.empty()) return;
    if (began_) {
      std::vector<int64_t> sizes;
      for (const PreferenceData& s : sets_) sizes.push_back(2 * s.pairs());
      reference_ = load_reference(file_, sizes);
      return;
    }
    const ReferenceScorer scorer{model_, precision_of(recipe_), phase_.preference.reference == "base", ranks_.all};
    for (const PreferenceData& s : sets_) reference_.push_back(scorer.scores(s));
    if (ranks_.all.rank() == 0) save_reference(file_, reference_);
    ranks_.all.barrier();
  }

  const Recipe& recipe_;
  const PhaseConfig& phase_;
  const RankGroups& ranks_;
  models::Model& model_;
  std::filesystem::path file_;
  uint64_t seed_;
  std::shared_ptr<PreferenceStats> stats_;
  std::vector<PreferenceData> sets_;  // those that are learned first, then those of evaluation
  size_t learned_ = 0;
  std::vector<Pair> pairs_;
  std::vector<std::vector<double>> reference_;  // by set
  std::vector<size_t> order_;
  int64_t consumed_ = 0, pass_ = -1;
  bool began_ = false;
};

}  // namespace

TrainOptions with_preferences(TrainOptions options) {
  auto stats = std::make_shared<PreferenceStats>();
  auto preference = std::make_shared<PreferenceConfig>();
  options.source = [=, run = options.out, other = options.source](const SourceRequest& r) {
    *preference = r.recipe.phase[r.phase].preference;
    if (!preference->on()) return other(r);
    return std::unique_ptr<BatchSource>(std::make_unique<PreferenceSource>(r, run, stats));
  };
  options.objective = [=, other = options.objective](grad::Tape& tape, models::Model& model, const MicroBatch& b) {
    return b.reference ? loss_of(tape, model, b, *preference, *stats) : other(tape, model, b);
  };
  return options;
}

}  // namespace quern::train

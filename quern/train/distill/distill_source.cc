#include "quern/train/distill/distill_source.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/comm/in_process.h"
#include "quern/models/checkpoint.h"
#include "quern/models/fingerprint.h"
#include "quern/train/distill/distill_loss.h"
#include "quern/train/distill/teacher_store.h"
#include "quern/train/trainer/export.h"
#include "quern/train/trainer/gradients.h"

namespace quern::train {
namespace {

// Of a phase: the model, or what was stored of it.
struct Teacher {
  DistillConfig settings;
  std::unique_ptr<models::Model> model;
  std::unique_ptr<TeacherStore> store;
  std::string phase;
};

std::unique_ptr<models::Model> load_teacher(const Recipe& recipe, const DistillConfig& c,
                                            const nn::Registry& registry) {
  models::LoadOptions o;
  if (c.format == "f32" || c.format == "bf16")
    o.dtype = c.format == "f32" ? DType::f32 : DType::bf16;
  else
    o.scheme = kernels::QuantFormat(kernels::parse_format(c.format, "distill.format"));
  auto model = models::load_model(registry, recipe.base / c.teacher, o);
  const std::filesystem::path own = tokenizer_source(recipe) / "tokenizer.json",
                              theirs = recipe.base / c.teacher / "tokenizer.json";
  if (std::filesystem::exists(own) && std::filesystem::exists(theirs) && read_file(own) != read_file(theirs))
    fail("distill.teacher: {} is another tokenizer than {}: a teacher and its student need the same one",
         theirs.string(), own.string());
  return model;
}

std::string hash_of(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return "";
  const std::string text = read_file(file);
  return fmt::format("{:016x}", models::content_hash(std::as_bytes(std::span(text))));
}

// What a phase wants of a store. The teacher itself may be on another machine: then its fingerprint is not known.
TeacherIdentity wanted_identity(const Recipe& recipe, const DistillConfig& c, int64_t vocab,
                                const std::filesystem::path& tokenizer) {
  const std::filesystem::path teacher = recipe.base / c.teacher;
  return {.teacher = c.teacher,
          .fingerprint = std::filesystem::exists(teacher) ? models::model_fingerprint(teacher, c.format) : "",
          .format = c.format,
          .tokenizer = hash_of(tokenizer / "tokenizer.json"),
          .top = c.top,
          .vocab = vocab,
          .temperature = c.temperature};
}

std::unique_ptr<Teacher> open_teacher(const SourceRequest& r, const nn::Registry& registry) {
  const PhaseConfig& phase = r.recipe.phase[r.phase];
  auto out = std::make_unique<Teacher>(Teacher{phase.distill, nullptr, nullptr, phase.name});
  const DistillConfig& c = out->settings;
  if (!c.store.empty()) {
    out->store = std::make_unique<TeacherStore>(r.recipe.base / c.store);
    check_same_teacher(out->store->identity(),
                       wanted_identity(r.recipe, c, r.model.vocab_size(), tokenizer_source(r.recipe)),
                       (r.recipe.base / c.store).string());
    return out;
  }
  out->model = load_teacher(r.recipe, c, registry);
  if (out->model->vocab_size() != r.model.vocab_size())
    fail("distill.teacher {}: has {} tokens, the model that learns {}: both need the same tokenizer", c.teacher,
         out->model->vocab_size(), r.model.vocab_size());
  return out;
}

// The documents of a micro-batch that have learned tokens.
struct Document {
  int64_t begin, end, learned;
  uint64_t key;
};
std::vector<Document> documents_of(const MicroBatch& b) {
  std::vector<Document> out;
  for (int64_t s = 0; s < b.batch.segments(); ++s) {
    const auto begin = static_cast<size_t>(b.batch.offsets[static_cast<size_t>(s)]),
               end = static_cast<size_t>(b.batch.offsets[static_cast<size_t>(s) + 1]);
    const auto targets = std::span(b.targets).subspan(begin, end - begin);
    const auto learned = std::count_if(targets.begin(), targets.end(), [](int32_t t) { return t >= 0; });
    if (learned > 0)
      out.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(end), learned,
                     document_key(std::span(b.tokens).subspan(begin, end - begin), targets)});
  }
  return out;
}

// Of every row with a target, where the store has it.
std::vector<TeacherStore::Token> stored_rows(const Teacher& teacher, const MicroBatch& b) {
  std::vector<TeacherStore::Token> rows(b.tokens.size());
  for (const Document& d : documents_of(b)) {
    const auto found = teacher.store->find(d.key, d.learned);
    if (!found)
      fail(
          "phase '{}', distill.store {}: has no document of {} tokens that the data hold: the store was made with "
          "other "
          "data, another sequence_length or fewer steps; store the teacher's logits for this recipe",
          teacher.phase, teacher.settings.store, d.end - d.begin);
    auto next = found->begin();
    for (int64_t t = d.begin; t < d.end; ++t)
      if (b.targets[static_cast<size_t>(t)] >= 0) rows[static_cast<size_t>(t)] = *next++;
  }
  return rows;
}

// Rows of the recipe's data; what is learned from them is no likelihood of a text.
class DistillSource : public BatchSource {
 public:
  DistillSource(std::unique_ptr<BatchSource> data, const DistillConfig& c) : data_(std::move(data)), settings_(c) {}
  StepBatches next(int64_t rows) override { return data_->next(rows); }
  int64_t consumed() const override { return data_->consumed(); }
  void seek(int64_t consumed) override { data_->seek(consumed); }
  std::string describe() const override {
    return data_->describe() +
           fmt::format("teacher {}{}: {} KL of {} words, weight {}, temperature {}\n", settings_.teacher,
                       settings_.store.empty() ? "" : ", stored in " + settings_.store, settings_.direction,
                       settings_.top == 0 ? "all" : fmt::format("{}", settings_.top), settings_.weight,
                       settings_.temperature);
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

// The loss of some rows of a micro-batch, from `begin` on, by the student's logits, which become the gradient.
using ChunkLoss = std::function<double(int64_t begin, View<float, 2> logits, std::span<const int32_t> targets)>;
grad::Var loss_by_chunks(grad::Tape& tape, models::Model& student, const MicroBatch& b, const ChunkLoss& loss) {
  const kernels::RowsObjective rows = [&](int64_t begin, View<float, 2> logits) {
    return loss(begin, logits,
                std::span(b.targets).subspan(static_cast<size_t>(begin), static_cast<size_t>(logits.shape[0])));
  };
  const kernels::TokenObjective none;
  return student.objective(tape, student.hidden(tape, b.tokens, b.batch), {b.targets, none, 1, &rows});
}

grad::Var loss_of(grad::Tape& tape, models::Model& student, const Teacher& teacher, const MicroBatch& b) {
  const double share = 1 / static_cast<double>(std::max<int64_t>(1, b.weight));
  if (teacher.store) {
    const std::vector<TeacherStore::Token> stored = stored_rows(teacher, b);
    return loss_by_chunks(
        tape, student, b, [&](int64_t begin, View<float, 2> logits, std::span<const int32_t> targets) {
          std::vector<TopWords> top(targets.size());
          for (size_t r = 0; r < top.size(); ++r)
            if (targets[r] >= 0) teacher.store->read(stored[static_cast<size_t>(begin) + r], top[r]);
          return distill_rows(logits, targets, share, [&](int64_t r, std::span<float> row, int32_t target) {
            return distill_token(teacher.settings, top[static_cast<size_t>(r)], row, target);
          });
        });
  }
  grad::Tape frozen(grad::Tape::inference, tape.precision());
  const Tensor seen = teacher.model->hidden(frozen, b.tokens, b.batch).value;
  return loss_by_chunks(
      tape, student, b, [&](int64_t begin, View<float, 2> logits, std::span<const int32_t> targets) {
        grad::Tape head(grad::Tape::inference, tape.precision());
        const Tensor theirs =
            teacher.model->logits(head, seen.narrow(0, begin, logits.shape[0])).value.to(DType::f32);
        return distill_rows(teacher.settings, theirs.view<const float, 2>(), logits, targets, share);
      });
}

}  // namespace

TrainOptions with_distillation(TrainOptions options, const nn::Registry& registry) {
  auto teacher = std::make_shared<std::unique_ptr<Teacher>>();
  options.source = [=, &registry, other = options.source](const SourceRequest& r) -> std::unique_ptr<BatchSource> {
    teacher->reset();
    if (!r.recipe.phase[r.phase].distill.on()) return other(r);
    *teacher = open_teacher(r, registry);
    return std::make_unique<DistillSource>(other(r), (*teacher)->settings);
  };
  options.objective = [=, other = options.objective](grad::Tape& tape, models::Model& model, const MicroBatch& b) {
    return *teacher ? loss_of(tape, model, **teacher, b) : other(tape, model, b);
  };
  return options;
}

namespace {

// Adds what the teacher says of some documents of a micro-batch.
void store_documents(models::Model& teacher, const Recipe& recipe, const DistillConfig& c, const MicroBatch& b,
                     std::span<const Document> documents, TeacherStoreWriter& to) {
  constexpr int64_t kRows = 256;
  std::vector<int32_t> tokens;
  std::vector<int64_t> lengths, learned;  // learned: rows
  for (const Document& d : documents) {
    for (int64_t t = d.begin; t < d.end; ++t) {
      if (b.targets[static_cast<size_t>(t)] >= 0) learned.push_back(static_cast<int64_t>(tokens.size()));
      tokens.push_back(b.tokens[static_cast<size_t>(t)]);
    }
    lengths.push_back(d.end - d.begin);
  }
  grad::Tape tape(grad::Tape::inference, precision_of(recipe));
  const Tensor hidden = teacher.hidden(tape, tokens, mixers::Batch::documents(lengths)).value;
  std::vector<TopWords> top(learned.size());
  for (size_t done = 0, end = 0; done < learned.size(); done = end) {
    const int64_t begin = learned[done], n = std::min(kRows, hidden.dim(0) - begin);
    while (end < learned.size() && learned[end] < begin + n) ++end;
    grad::Tape head(grad::Tape::inference, precision_of(recipe));
    const Tensor logits = teacher.logits(head, hidden.narrow(0, begin, n)).value.to(DType::f32);
    const View<const float, 2> rows = logits.view<const float, 2>();
    parallel_for(static_cast<int64_t>(end - done), 1, [&](int64_t from, int64_t to_row) {
      for (auto i = done + static_cast<size_t>(from); i < done + static_cast<size_t>(to_row); ++i)
        top_words({rows.row(learned[i] - begin), static_cast<size_t>(rows.shape[1])}, c.top, c.temperature, top[i]);
    });
  }
  for (auto from = top.begin(); const Document& d : documents) {
    to.add(d.key, std::span(from, from + d.learned));
    from += d.learned;
  }
}

}  // namespace

TeacherStoreReport store_teacher(const Recipe& recipe, const nn::Registry& registry,
                                 const std::function<void(const TeacherStoreReport&)>& progress) {
  TeacherStoreReport report;
  const auto alone = comm::single_rank();
  const RankGroups ranks(*alone, recipe.parallel);
  for (size_t i = 0; i < recipe.phase.size(); ++i) {
    const PhaseConfig& phase = recipe.phase[i];
    const DistillConfig& c = phase.distill;
    if (c.store.empty()) continue;
    ++report.phases;
    const std::unique_ptr<models::Model> teacher = load_teacher(recipe, c, registry);
    TeacherStoreWriter to(recipe.base / c.store,
                          wanted_identity(recipe, c, teacher->vocab_size(), recipe.base / c.teacher));
    const std::unique_ptr<BatchSource> source = recipe_source({recipe, i, ranks, *teacher});
    for (int64_t step = 0; step < phase.steps; ++step) {
      for (const MicroBatch& b : source->next(phase.batch_size_at(step)).micro) {
        std::map<uint64_t, Document> fresh;
        for (const Document& d : documents_of(b))
          if (to.holds(d.key) || !fresh.try_emplace(d.key, d).second)
            ++report.held;
          else
            ++report.documents;
        std::vector<Document> documents;
        for (const auto& [key, d] : fresh) documents.push_back(d), report.tokens += d.learned;
        if (!documents.empty()) store_documents(*teacher, recipe, c, b, documents, to);
      }
      if (progress) progress(report);
    }
    to.finish();
  }
  if (report.phases == 0) fail("the recipe has no phase with distill.store: name a folder there");
  return report;
}

}  // namespace quern::train

#include "lab/ovq/association_study.h"

#include <algorithm>
#include <map>

#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/models/checkpoint.h"

namespace quern::lab {
namespace {

constexpr uint64_t kTestSeed = 0x7e57;

Json object(std::initializer_list<std::pair<const char*, Json>> fields) {
  Json j = Json::object();
  for (const auto& [key, value] : fields) j.set(key, value);
  return j;
}

mixers::Batch batch_of(const Associations& a) {
  return mixers::Batch::documents(std::vector<int64_t>(static_cast<size_t>(a.rows), a.length));
}

double accuracy(models::Model& model, const AssociationOptions& o, int64_t n) {
  int64_t right = 0, asked = 0;
  const int64_t at_once = std::max<int64_t>(1, 8192 / association_length(o.task, n));
  for (int64_t first = 0; first < o.test_sequences; first += at_once) {
    const Associations a = make_associations(o.task, n, std::min(at_once, o.test_sequences - first), kTestSeed,
                                             static_cast<uint64_t>(n * 1000000 + first));
    grad::Tape tape(grad::Tape::inference);
    const Tensor h = model.hidden(tape, a.ids, batch_of(a)).value;
    std::vector<int32_t> wanted;
    for (int32_t t : a.targets)
      if (t >= 0) wanted.push_back(t);
    Tensor rows = Tensor::empty({static_cast<int64_t>(wanted.size()), h.dim(1)}, h.dtype());
    for (int64_t t = 0, to = 0; t < h.dim(0); ++t)
      if (a.targets[static_cast<size_t>(t)] >= 0) rows.narrow(0, to++, 1).copy_from(h.narrow(0, t, 1));
    const Tensor logits = model.logits(tape, grad::Var(rows)).value;
    const auto l = logits.view<const float, 2>();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const float* row = l.row(static_cast<int64_t>(i));
      right += std::max_element(row, row + l.shape[1]) - row == wanted[i];
    }
    asked += static_cast<int64_t>(wanted.size());
  }
  return static_cast<double>(right) / static_cast<double>(asked);
}

}  // namespace

Json association_model(const AssociationOptions& o, int64_t rows) {
  int64_t longest = 0;
  for (const std::vector<int64_t>* sizes : {&o.train, &o.test})
    for (int64_t n : *sizes) longest = std::max(longest, association_length(o.task, n));
  MemoryOfStudy memory = o.memory;
  memory.rows = rows;
  Json mixers = Json::object(), layers = Json::array();
  mixers.set("near", near_mixer());
  mixers.set("far", memory_mixer(memory, longest));
  for (int64_t b = 0; b < o.blocks; ++b) layers.push("near"), layers.push("far");
  return object({{"model_type", Json("hybrid")},
                 {"vocab_size", Json(kAssociationVocab)},
                 {"hidden_size", Json(kMemoryWidth)},
                 {"intermediate_size", Json(2 * kMemoryWidth)},
                 {"hidden_act", Json("gelu")},
                 {"gated", Json(false)},
                 {"mixers", mixers},
                 {"layers", layers}});
}

AssociationOutcome study_association(const nn::Registry& registry, const AssociationOptions& o,
                                     const std::function<void(int64_t step, double loss)>& progress) {
  if (!o.test_rows.empty() && o.memory.kind != "ovq")
    fail("memory '{}': only an OVQ memory can be tested with other numbers of rows than it was trained with",
         o.memory.kind);
  if (o.train.empty() || o.test.empty())
    fail("nothing to remember: expected at least one number to learn and to ask");
  AssociationOutcome out;
  const Stopwatch watch;
  std::unique_ptr<models::Model> model = models::build_model(registry, association_model(o, o.memory.rows));
  start_weights(*model, o.seed);
  out.parameters = nn::parameter_count(*model);
  const std::vector<mixers::StateSite> sites = model->sites(DType::f32);
  for (const mixers::StatePart& p : sites.back().spec.parts) out.state_floats += element_count(p.shape);
  Rng random(o.seed, 1);
  uint64_t made = 0;
  auto loss = [&](grad::Tape& tape, int64_t step) {
    const auto choices =
        static_cast<uint64_t>(step < o.easy_steps ? std::min<size_t>(2, o.train.size()) : o.train.size());
    const int64_t n = o.train[random.below(choices)];
    const int64_t rows = std::clamp<int64_t>(kLessonTokens / association_length(o.task, n), 1, 64);
    const Associations a = make_associations(o.task, n, rows, o.seed + 0x10000, made);
    made += static_cast<uint64_t>(rows);
    return model->loss(tape, model->hidden(tape, a.ids, batch_of(a)), a.targets);
  };
  out.loss = learn(*model, registry, o.lessons, loss, progress);
  out.seconds = watch.seconds();
  std::vector<int64_t> sizes = {o.memory.rows};
  sizes.insert(sizes.end(), o.test_rows.begin(), o.test_rows.end());
  std::map<std::string, Tensor> learned;
  model->visit("", [&](const std::string& name, grad::Parameter& p) { learned[name] = p.value; });
  for (int64_t rows : sizes) {
    std::unique_ptr<models::Model> asked = models::build_model(registry, association_model(o, rows));
    asked->visit("", [&](const std::string& name, grad::Parameter& p) {
      const Tensor& value = learned.at(name);
      QUERN_CHECK(value.shape() == p.shape, "{}", name);
      p.value = value;
    });
    AssociationOutcome::Row row{rows, {}};
    for (int64_t n : o.test) row.accuracy.push_back(accuracy(*asked, o, n));
    out.accuracy.push_back(std::move(row));
  }
  return out;
}

}  // namespace quern::lab

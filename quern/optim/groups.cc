// Sorts parameters into groups by rule, and keeps their state.
#include "quern/optim/groups.h"

#include <array>
#include <cmath>
#include <map>

namespace quern::optim {
namespace {

constexpr std::array<std::pair<const char*, grad::ParameterKind>, 5> kKinds = {
    {{"plain", grad::ParameterKind::plain},
     {"matrix", grad::ParameterKind::matrix},
     {"embedding", grad::ParameterKind::embedding},
     {"head", grad::ParameterKind::head},
     {"balance", grad::ParameterKind::balance}}};

Json or_default(const Json& given, const char* fallback) { return given.is_null() ? Json::parse(fallback) : given; }

Json default_optimizer(const OptimizerConfig& c, grad::ParameterKind kind) {
  switch (kind) {
    case grad::ParameterKind::matrix:
      return or_default(c.matrices, R"({"type": "muon"})");
    case grad::ParameterKind::embedding:
    case grad::ParameterKind::head:
      return or_default(c.embeddings, R"({"type": "adamw", "weight_decay": 0})");
    case grad::ParameterKind::balance:
      return or_default(c.balance, R"({"type": "balance"})");
    case grad::ParameterKind::plain:
      break;
  }
  return or_default(c.others, R"({"type": "adamw", "weight_decay": 0})");
}

std::unique_ptr<Optimizer> make(const nn::Registry& registry, const Json& j) {
  if (!j.is_object()) fail("optimizer: expected an object like {{\"type\": \"adamw\"}}, found {}", j.dump());
  const std::string& type = j.at("type", "optimizer").as_string("optimizer, type");
  Json options = j;
  options.erase("type");
  return registry.optimizers.make(type, options);
}

std::vector<OptimizerRule> read_rules(const OptimizerConfig& c) {
  std::vector<OptimizerRule> rules;
  for (const Json& j : c.rules) {
    from_json(j, rules.emplace_back(), fmt::format("optimizer rule {}", rules.size()), UnknownKeys::refuse);
    const std::string& kind = rules.back().kind;
    bool known = kind.empty();
    for (const auto& [name, k] : kKinds) known = known || kind == name;
    if (!known)
      fail("optimizer rule {}, kind: '{}', expected plain, matrix, embedding, head or balance", rules.size(), kind);
  }
  return rules;
}

bool is_kind(const std::string& kind, grad::ParameterKind k) {
  for (const auto& [name, value] : kKinds)
    if (value == k) return kind.empty() || kind == name;
  return false;
}

// The number behind "layers." in a name, −1 where there is none.
int64_t layer_of(const std::string& name) {
  size_t at = name.find("layers.");
  if (at == name.npos) return -1;
  int64_t n = 0;
  size_t i = at + 7, begin = i;
  for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && n < 1'000'000; ++i) n = 10 * n + (name[i] - '0');
  return i > begin ? n : -1;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = pattern.npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++, retry = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != pattern.npos) {
      p = star + 1, n = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

OptimizerGroups::OptimizerGroups(nn::Module& model, const nn::Registry& registry, const OptimizerConfig& c,
                                 const PieceOf& own) {
  const std::vector<OptimizerRule> rules = read_rules(c);
  int64_t layers = 0;
  model.visit("", [&](const std::string& name, grad::Parameter&) { layers = std::max(layers, layer_of(name) + 1); });
  std::map<std::string, size_t> by_optimizer;
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (!p.trainable && p.kind != grad::ParameterKind::balance) return;
    Json wanted = default_optimizer(c, p.kind);
    auto slot = std::make_unique<OptimizerSlot>();
    for (const OptimizerRule& r : rules)
      if (matches(r.match, name) && is_kind(r.kind, p.kind)) {
        wanted = r.optimizer, slot->lr_scale = r.lr_scale;
        break;
      }
    if (wanted.is_null()) return;
    if (p.value.defined() && p.value.dtype() != DType::f32)
      fail("{} is stored as {}: optimizers update f32 parameters only", name, dtype_name(p.value.dtype()));
    if (int64_t l = layer_of(name); l >= 0) slot->lr_scale *= std::pow(c.layer_decay, layers - 1 - l);
    slot->name = name, slot->parameter = slot->whole = &p;
    auto [at, fresh] = by_optimizer.try_emplace(wanted.dump(), groups_.size());
    if (fresh) groups_.push_back({at->first, make(registry, wanted), {}});
    Group& g = groups_[at->second];
    const OwnPiece piece = own ? own(name, p, *g.rule) : OwnPiece{};
    if (piece.piece) slot->parameter = piece.piece, slot->begin = piece.begin;
    std::vector<OptimizerPart> parts = g.rule->state(name, p);
    for (OptimizerPart& part : parts)
      if (part.shape == p.shape) part.shape = slot->parameter->shape;
    slot->state = OptimizerState(parts);
    if (c.working_copies && p.matrix && p.value.defined()) slot->working = slot->parameter->value.to(DType::bf16);
    g.slots.push_back(std::move(slot));
  });
}

void OptimizerGroups::step(const OptimizerStep& s, const MatrixStep& elsewhere) {
  for (Group& g : groups_) {
    std::vector<OptimizerSlot*> here, cut;
    for (auto& slot : g.slots)
      if (slot->parameter->grad.defined())
        (slot->parameter != slot->whole && g.rule->cut() == OptimizerRange::matrices ? cut : here)
            .push_back(slot.get());
    g.rule->step(here, s);
    if (cut.empty()) continue;
    QUERN_CHECK(elsewhere, "slices of matrices and no function that gathers them");
    elsewhere(dynamic_cast<const MatrixOptimizer&>(*g.rule), cut, s);
  }
}

void OptimizerGroups::visit_state(const StateVisitor& v) {
  for (Group& g : groups_)
    for (auto& slot : g.slots)
      for (const OptimizerPart& part : g.rule->state(slot->name, *slot->whole))
        v(*slot, part, slot->state.at(part.role));
}

OptimizerSlot* OptimizerGroups::find(const std::string& parameter) {
  for (Group& g : groups_)
    for (auto& slot : g.slots)
      if (slot->name == parameter) return slot.get();
  return nullptr;
}

int64_t OptimizerGroups::state_bytes() const {
  int64_t bytes = 0;
  for (const Group& g : groups_)
    for (const auto& slot : g.slots) bytes += slot->state.bytes();
  return bytes;
}

std::string OptimizerGroups::describe() const {
  std::string out;
  for (const Group& g : groups_) {
    int64_t elements = 0, bytes = 0;
    for (const auto& slot : g.slots) {
      elements += element_count(slot->whole->shape);
      bytes += slot->state.bytes();
    }
    out += fmt::format("{}: {} parameters, {} elements, {} bytes of state\n", g.optimizer, g.slots.size(), elements,
                       bytes);
  }
  return out;
}

}  // namespace quern::optim

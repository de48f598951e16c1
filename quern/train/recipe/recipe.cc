#include "quern/train/recipe/recipe.h"

#include <charconv>
#include <cmath>

#include "quern/base/config_keys.h"
#include "quern/base/toml.h"

namespace quern::train {

namespace fs = std::filesystem;

Json merged(Json a, const Json& b) {
  if (b.is_null()) return a;
  if (!a.is_object() || !b.is_object()) return b;
  for (const auto& [key, value] : b.as_object("merged")) {
    const Json* old = a.find(key);
    a.set(key, old ? merged(*old, value) : value);
  }
  return a;
}

namespace {

constexpr int kDeepest = 8;  // recipes that extend recipes

Json read_with_bases(const fs::path& file, int depth) {
  if (depth > kDeepest)
    fail("{}: more than {} recipes extend each other; do they form a cycle?", file.string(), kDeepest);
  Json j = canonical_keys<Recipe>(read_toml(file), file.string());
  const Json* base = j.find("extends");
  if (!base) return j;
  fs::path from = file.parent_path() / base->as_string(file.string() + ", extends");
  j.erase("extends");
  return merged(read_with_bases(from, depth + 1), j);
}

Json parse_value(const std::string& text) {
  try {
    return parse_toml("x = " + text).at("x");
  } catch (const Error&) {
    return Json(text);
  }
}

void set_path(Json& j, std::string_view path, const Json& value, const std::string& whole) {
  size_t dot = path.find('.');
  std::string key(path.substr(0, dot));
  if (key.empty()) fail("setting '{}': expected KEY.KEY=VALUE", whole);
  Json* child = nullptr;
  if (j.is_array()) {
    size_t i = 0;
    auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), i);
    if (error != std::errc() || *end || i >= j.items().size())
      fail("setting '{}': '{}' is not an index of a list of {} entries", whole, key, j.items().size());
    child = &j.items()[i];
  } else {
    if (!j.is_null() && !j.is_object())
      fail("setting '{}': '{}' is a field of a value that has no fields", whole, key);
    if (!j.find(key)) j.set(key, Json());
    for (auto& [k, v] : j.members())
      if (k == key) child = &v;
  }
  if (dot == std::string_view::npos)
    *child = value;
  else
    set_path(*child, path.substr(dot + 1), value, whole);
}

void check_preference(const Recipe& r, const PhaseConfig& p, const std::string& at) {
  check(p.preference, at);
  if (!p.preference.on()) return;
  if (p.rl.on()) fail("{}: preference and rl: a phase learns from one of them", at);
  if (p.preference.reference == "base" && !r.adapter.on())
    fail("{}, preference.reference: base needs an adapter: without one the model itself changes", at);
  if (r.parallel.context > 1 || r.parallel.experts > 1)
    fail("{}: preference shares neither sequences nor experts over ranks (parallel.context, parallel.experts)", at);
  for (const data::DataSetConfig& set : p.data)
    if (set.weight != 1) fail("{}, data '{}', weight: pairs are drawn evenly", at, set.path);
}

void check_distill(const Recipe& r, const PhaseConfig& p, const std::string& at) {
  check(p.distill, at);
  if (!p.distill.on()) return;
  if (p.rl.on() || p.preference.on()) fail("{}: distill learns from data, not with rl or preference", at);
  if (r.parallel.context > 1 || r.parallel.experts > 1)
    fail("{}: distill shares neither sequences nor experts over ranks (parallel.context, parallel.experts)", at);
}

void check(const Recipe& r, const std::string& where) {
  if (r.phase.empty()) fail("{}: no [[phase]]: nothing to train", where);
  if (r.dtype != "bf16" && r.dtype != "f32") fail("{}, dtype: '{}', expected bf16 or f32", where, r.dtype);
  if (r.clip < 0) fail("{}, clip: {} is below zero", where, r.clip);
  if (r.checkpoint.every < 0 || r.checkpoint.keep < 1)
    fail("{}, checkpoint: every {} must be 0 or more, keep {} at least 1", where, r.checkpoint.every,
         r.checkpoint.keep);
  if (r.model.from.empty() && r.model.config.is_null())
    fail("{}, model: give `from`, a model folder, or `config`", where);
  models::check(r.adapter, where + ", adapter");
  if (r.adapter.on()) {
    if (r.model.from.empty() || r.model.fresh)
      fail("{}, adapter: needs a trained model: give model.from, without model.fresh", where);
    if (!r.model.config.is_null()) fail("{}, model.config: cannot be changed with an adapter", where);
    if (r.parallel.experts > 1) fail("{}, parallel.experts: is not supported with an adapter", where);
    for (const PhaseConfig& p : r.phase) {
      if (!p.config.is_null()) fail("{}, phase '{}', config: cannot be changed with an adapter", where, p.name);
    }
  }
  if (r.eval.sequences < 1 || r.eval.every < 0)
    fail("{}, eval: sequences {} must be 1 or more, every {} 0 or more", where, r.eval.sequences, r.eval.every);
  if (r.parallel.zero < 0 || r.parallel.zero > 1 || r.parallel.bucket < 1)
    fail("{}, parallel: zero {} must be 0 or 1, bucket {} at least 1", where, r.parallel.zero, r.parallel.bucket);
  if (r.parallel.context < 1 || (r.parallel.context_form != "gather" && r.parallel.context_form != "ring"))
    fail("{}, parallel: context {} must be 1 or more, context_form '{}' gather or ring", where, r.parallel.context,
         r.parallel.context_form);
  if (r.parallel.two_level_from < 0 || (r.parallel.two_level_from > 0 && r.parallel.zero > 0))
    fail(
        "{}, parallel.two_level_from {}: must be 0 or more, and 0 with zero = 1, whose transfers overlap in one "
        "level",
        where, r.parallel.two_level_from);
  if (r.parallel.experts < 1) fail("{}, parallel: experts {} must be 1 or more", where, r.parallel.experts);
  const SupervisePolicy& s = r.supervise;
  for (auto [field, value] : {std::pair{"setup_s", s.setup_s},
                              {"step_s", s.step_s},
                              {"checkpoint_s", s.checkpoint_s},
                              {"evaluate_s", s.evaluate_s},
                              {"heartbeat_s", s.heartbeat_s}})
    if (!(value > 0)) fail("{}, supervise.{}: {}, expected more than 0 seconds", where, field, value);
  if (!(s.slow_share > 0 && s.slow_share <= 1) || s.slow_steps < 1 || s.min_ranks < 1 || s.max_restarts < 0)
    fail(
        "{}, supervise: slow_share {} must be above 0 and at most 1, slow_steps {} and min_ranks {} at least 1, "
        "max_restarts {} at least 0",
        where, s.slow_share, s.slow_steps, s.min_ranks, s.max_restarts);
  for (size_t i = 0; i < r.phase.size(); ++i) {
    const PhaseConfig& p = r.phase[i];
    std::string at = fmt::format("{}, phase {} ('{}')", where, i, p.name);
    if (p.steps < 1) fail("{}: give steps or tokens", at);
    if (p.sequence_length < 1 || p.batch_size < 1 || p.micro_batch_size < 0)
      fail("{}: sequence_length {} and batch_size {} must be 1 or more, micro_batch_size {} 0 or more", at,
           p.sequence_length, p.batch_size, p.micro_batch_size);
    if (p.data.empty() && !p.rl.on())
      fail("{}: no data; give data sets, or rl.environments or rl.tasks to learn from", at);
    if (!p.data.empty() && p.rl.on())
      fail("{}: data sets and rl: a phase learns from data or from its own answers", at);
    if (p.rl.on()) check(p.rl, at);
    check_distill(r, p, at);
    check_preference(r, p, at);
    if (p.rl.on() && p.rl.max_tokens >= p.sequence_length)
      fail("{}, rl.max_tokens: answers of {} tokens leave no room for a problem in sequence_length {}", at,
           p.rl.max_tokens, p.sequence_length);
    // Ranks learn from different numbers of answers, in different numbers of micro-batches.
    if (p.rl.on() && (r.parallel.context > 1 || r.parallel.experts > 1))
      fail(
          "{}: reinforcement learning shares neither sequences nor experts over ranks (parallel.context, "
          "parallel.experts)",
          at);
    if (p.rl.on() && (p.rl.updates > 1 || p.rl.ahead > 0) && !p.ramp.empty())
      fail("{}, ramp: steps that are sampled in one round (rl.updates, rl.ahead) have the same batch size", at);
    int64_t before = -1;
    for (const BatchRamp& b : p.ramp) {
      if (b.step <= before || b.batch_size < 1)
        fail("{}, ramp: steps must rise and every batch_size be 1 or more", at);
      before = b.step;
    }
    quern::optim::check(p.schedule);
  }
}

// `tokens` becomes steps, shares of the phase become steps, and the schedule ends with the phase.
void resolve(PhaseConfig& p) {
  if (p.steps > 0 && p.tokens > 0) fail("phase '{}': both steps and tokens are given", p.name);
  if (p.tokens > 0)
    for (int64_t seen = 0; seen < p.tokens; ++p.steps) seen += p.batch_size_at(p.steps) * p.sequence_length;
  p.tokens = 0;
  double steps = static_cast<double>(p.steps);
  for (double* x : {&p.schedule.warmup, &p.schedule.decay})
    if (*x > 0 && *x < 1) *x = std::round(*x * steps);
  if (p.schedule.total == 0) p.schedule.total = steps;
}

}  // namespace

int64_t PhaseConfig::batch_size_at(int64_t step) const {
  int64_t n = batch_size;
  for (const BatchRamp& b : ramp)
    if (step >= b.step) n = b.batch_size;
  return n;
}

int64_t Recipe::steps() const {
  int64_t n = 0;
  for (const PhaseConfig& p : phase) n += p.steps;
  return n;
}

int64_t Recipe::eval_sequence_length() const {
  return eval.sequence_length > 0 ? eval.sequence_length : phase.back().sequence_length;
}

Recipe::Position Recipe::at(int64_t step) const {
  size_t i = 0;
  for (; i + 1 < phase.size() && step >= phase[i].steps; ++i) step -= phase[i].steps;
  return {i, step};
}

Recipe parse_recipe(const Json& j, const fs::path& base, const std::string& where) {
  Recipe r;
  from_json(j, r, where, UnknownKeys::refuse);
  for (PhaseConfig& p : r.phase)
    if (p.batch_size > 0 && p.sequence_length > 0) resolve(p);
  check(r, where);
  r.base = base;
  return r;
}

Recipe read_recipe(const fs::path& file, std::span<const std::string> set) {
  Json j = read_with_bases(file, 0);
  for (const std::string& s : set) {
    size_t equal = s.find('=');
    if (equal == std::string::npos) fail("setting '{}': expected KEY.KEY=VALUE", s);
    set_path(j, canonical_path<Recipe>(std::string_view(s).substr(0, equal)), parse_value(s.substr(equal + 1)), s);
    j = canonical_keys<Recipe>(std::move(j), "setting " + s);
  }
  return parse_recipe(j, file.parent_path(), file.string());
}

}  // namespace quern::train

#include "quern/code/random_program.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::code {
namespace {

constexpr int64_t kMaxGenerated = 1'000'000;  // results stay far below kMaxNumber
constexpr size_t kMaxGeneratedList = 60;

int64_t from_to(Rng& r, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(r.below(static_cast<uint64_t>(high - low + 1)));
}

std::vector<const CodeOperation*> operations_from(ValueType in, Dialect d) {
  std::vector<const CodeOperation*> out;
  for (const auto& all : {list_operations(), text_operations()})
    for (const CodeOperation& o : all)
      if (o.in == in && o.is_in(d)) out.push_back(&o);
  return out;
}

// Adds steps one by one, each of which changes what the tests have come to.
class Composer {
 public:
  Composer(Rng& r, const TaskSize& size, const std::vector<Arguments>& tests, bool has_k)
      : r_(r), size_(size), tests_(tests) {
    program_.has_k = has_k;
    for (const Arguments& a : tests) values_.push_back(a.x);
    for (ValueType t : {ValueType::number, ValueType::list, ValueType::text})
      known_[static_cast<size_t>(t)] = operations_from(t, size.dialect);
  }

  CodeProgram compose(int64_t steps) {
    const int64_t with_k = program_.has_k ? from_to(r_, 0, steps - 1) : -1;
    for (int64_t i = 0; i < steps; ++i) add_step(i == with_k, i + 1 < steps);
    if (program_.has_k && !uses_k_) add_surely();
    if (program_.steps.empty()) add_surely();
    return std::move(program_);
  }

 private:
  void add_step(bool with_k, bool more) {
    for (int tries = 0; tries < 16; ++tries)
      if (accept(random_step(with_k, more))) return;
  }

  // Every value changes: a step that is never refused for lack of effect.
  void add_surely() {
    const ValueType type = values_.front().type;
    const char* name = type == ValueType::number ? "plus" : type == ValueType::list ? "add" : "shift";
    CodeStep s{.action = {.operation = &find_operation(name), .constant = 3, .uses_k = program_.has_k}};
    program_.steps.push_back(s);
    uses_k_ = program_.has_k;
  }

  StepAction random_action(const CodeOperation& o, bool with_k) {
    StepAction a{.operation = &o, .uses_k = with_k && o.has_constant()};
    if (o.has_constant() && !a.uses_k) a.constant = from_to(r_, o.low, o.high);
    return a;
  }

  // A step to another type comes late: what follows a single number is of less interest.
  CodeStep random_step(bool with_k, bool more) {
    const auto& known = known_[static_cast<size_t>(values_.front().type)];
    const CodeOperation* o = known[r_.below(known.size())];
    for (int i = 0; i < 8 && more && o->in == ValueType::list && o->out == ValueType::number; ++i)
      o = known[r_.below(known.size())];
    CodeStep s{.action = random_action(*o, with_k)};
    if (size_.difficulty < 2 || with_k || o->in != o->out || r_.below(5) != 0) return s;
    const CodeOperation* other = known[r_.below(known.size())];
    std::vector<const CodeCondition*> all;
    for (const CodeCondition& c : conditions())
      if (c.in == o->in) all.push_back(&c);
    if (other == o || other->out != o->out || all.empty()) return s;
    s.condition = all[r_.below(all.size())];
    if (s.condition->has_constant()) s.condition_constant = from_to(r_, s.condition->low, s.condition->high);
    s.otherwise = random_action(*other, false);
    return s;
  }

  bool accept(const CodeStep& s) {
    const bool wants_k = program_.has_k && !uses_k_;
    if (!program_.steps.empty() && program_.steps.back().action.operation == s.action.operation) return false;
    std::vector<CodeValue> next;
    size_t changed = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto v = run(s, values_[i], tests_[i].k.value_or(0));
      if (!v || v->list.size() > kMaxGeneratedList || std::abs(v->number) > kMaxGenerated) return false;
      for (int64_t n : v->list)
        if (std::abs(n) > kMaxGenerated) return false;
      changed += *v != values_[i] ? 1 : 0;
      next.push_back(*v);
    }
    if (changed < values_.size() / 3) return false;
    if (!differ(next)) return false;
    uses_k_ = uses_k_ || (wants_k && s.action.uses_k);
    values_ = std::move(next);
    program_.steps.push_back(s);
    return true;
  }

  // At least three values, none of which is more than half of them.
  static bool differ(const std::vector<CodeValue>& values) {
    std::vector<std::pair<const CodeValue*, size_t>> seen;
    size_t most = 0;
    for (const CodeValue& v : values) {
      auto at = std::ranges::find_if(seen, [&](const auto& s) { return *s.first == v; });
      if (at == seen.end()) at = seen.insert(at, {&v, 0});
      most = std::max(most, ++at->second);
    }
    return seen.size() >= 3 && most <= values.size() / 2;
  }

  Rng& r_;
  const TaskSize& size_;
  const std::vector<Arguments>& tests_;
  CodeProgram program_;
  std::vector<CodeValue> values_;
  std::vector<const CodeOperation*> known_[3];
  bool uses_k_ = false;
};

InputFormat random_format(Rng& r, const TaskSize& size, int64_t steps) {
  InputFormat f;
  const uint64_t kind = r.below(size.dialect == Dialect::python ? 5 : 4);
  f.type = kind == 4 ? ValueType::text : kind == 3 ? ValueType::number : ValueType::list;
  f.length = f.type == ValueType::text ? 8 + steps : 4 + steps / 2;
  const int64_t reach = f.type == ValueType::number ? 99 : 9 + steps;
  f.lowest = f.type == ValueType::number ? 0 : -reach, f.highest = reach;
  if (size.difficulty >= 2 && r.below(4) == 0) f.max_k = 5;
  return f;
}

bool results_of(const CodeProgram& program, const std::vector<Arguments>& all, std::vector<CodeTest>& out) {
  for (const Arguments& a : all) {
    const auto v = run(program, a);
    if (!v) return false;
    out.push_back({a, *v});
  }
  return true;
}

// One random change; it may lead nowhere.
void change(CodeProgram& p, Rng& r, Dialect dialect) {
  CodeStep& s = p.steps[r.below(p.steps.size())];
  const auto at = &s - p.steps.data();
  StepAction& a = s.condition != nullptr && r.below(2) != 0 ? s.otherwise : s.action;
  switch (r.below(4)) {
    case 0:
      if (a.operation->has_constant() && !a.uses_k)
        a.constant = std::max<int64_t>(1, a.constant + (r.below(2) ? 1 : -1));
      return;
    case 1: {
      std::vector<const CodeOperation*> all = operations_from(a.operation->in, dialect);
      std::erase_if(all, [&](const CodeOperation* o) {
        return o->out != a.operation->out || o->has_constant() != a.operation->has_constant();
      });
      a.operation = all[r.below(all.size())];
      return;
    }
    case 2:
      if (s.in() == s.out() && p.steps.size() > 1) p.steps.erase(p.steps.begin() + at);
      return;
    default:
      if (static_cast<size_t>(at) + 1 < p.steps.size()) std::swap(p.steps[at], p.steps[at + 1]);
  }
}

bool fits_together(const CodeProgram& p, const CodeProgram& original) {
  for (size_t i = 0; i + 1 < p.steps.size(); ++i)
    if (p.steps[i].out() != p.steps[i + 1].in()) return false;
  return p.in() == original.in() && p.out() == original.out();
}

}  // namespace

std::string CodeTask::examples() const {
  std::string out;
  for (const CodeTest& t : shown)
    out += fmt::format("{}f({}) = {}", out.empty() ? "" : ", ", text_of(t.arguments), text_of(t.expected));
  return out;
}

CodeTask random_task(Rng& r, const TaskSize& size) {
  const int64_t steps = std::min(size.difficulty / 2 + 1, size.max_steps);
  CodeTask task;
  task.format = random_format(r, size, steps);
  const std::vector<Arguments> all = task.format.tests(r, size.shown + size.hidden);
  task.program = Composer(r, size, all, task.format.max_k > 0).compose(steps);
  // The edge cases come first: two of the shown tests are usual ones, so they are taken from the end.
  std::vector<CodeTest> tests;
  QUERN_CHECK(results_of(task.program, all, tests) && tests.size() > size.shown, "tests of a generated program");
  task.hidden.assign(tests.begin(), tests.end() - static_cast<std::ptrdiff_t>(size.shown));
  task.shown.assign(tests.end() - static_cast<std::ptrdiff_t>(size.shown), tests.end());
  return task;
}

std::optional<CodeProgram> with_error(const CodeTask& task, Rng& r, Dialect dialect) {
  const size_t tests = task.shown.size() + task.hidden.size();
  for (int tries = 0; tries < 40; ++tries) {
    CodeProgram p = task.program;
    change(p, r, dialect);
    if (!fits_together(p, task.program)) continue;
    bool runs = true;
    for (const auto* part : {&task.shown, &task.hidden})
      for (const CodeTest& t : *part) runs = runs && run(p, t.arguments).has_value();
    const size_t n = runs ? differences(task, p).size() : 0;
    if (n >= 2 && n < tests) return p;
  }
  return {};
}

std::vector<Arguments> differences(const CodeTask& task, const CodeProgram& other) {
  std::vector<Arguments> out;
  for (const auto* part : {&task.shown, &task.hidden})
    for (const CodeTest& t : *part)
      if (run(other, t.arguments) != t.expected) out.push_back(t.arguments);
  return out;
}

}  // namespace quern::code

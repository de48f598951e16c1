#include "quern/code/problems/code_problems.h"

#include "quern/base/error.h"
#include "quern/code/code_reply.h"
#include "quern/code/code_runner.h"
#include "quern/code/expression.h"

namespace quern::code {

using gym::Problem, gym::Verdict;

namespace {

std::string text_in(const CodeProgram& program, Dialect d) {
  if (d == Dialect::expression) return list_language_of(program);
  return fmt::format("```{}\n{}```", d == Dialect::python ? "python" : "c",
                     d == Dialect::python ? python_of(program) : c_of(program));
}

std::string_view arguments_name(const CodeProgram& program) { return program.has_k ? "x, k" : "x"; }

// "x, a list of at most 5 integers from -9 to 9", with k where there is one.
std::string given(const CodeTask& t) { return fmt::format("x, {}", t.format.text()); }

// In front of a program that the reader must understand.
std::string rules_before(const CodeProgram& program, Dialect d) {
  const std::string rules = d == Dialect::expression ? language_rules(list_language_of(program)) : "";
  return rules.empty() ? "" : rules + " ";
}

std::string how_to_write(const CodeProgram& program, Dialect d) {
  if (d == Dialect::expression)
    return fmt::format("{} Answer with f({}) = and one expression.", language_rules({}), arguments_name(program));
  if (d == Dialect::python) return "Answer with the whole function between ```python and ```.";
  std::string_view where;
  if (program.out() == ValueType::list)
    where = " The list is in x[0] to x[len - 1]; change it in place and return its new length.";
  else if (program.in() == ValueType::list)
    where = " The list is in x[0] to x[len - 1].";
  return fmt::format("Answer with the whole function between ```c and ```.{}", where);
}

std::string signature_text(const CodeProgram& program, Dialect d) {
  if (d == Dialect::c) return c_declaration(program.signature());
  return fmt::format("f({})", arguments_name(program));
}

std::string_view function_name(Dialect d) {
  return d == Dialect::python ? "the Python function" : d == Dialect::c ? "the C function" : "a function";
}

CodeProgram one_step(const CodeProgram& program, size_t i) {
  CodeProgram one{.has_k = program.has_k};
  one.steps.push_back(program.steps[i]);
  return one;
}

// "Reverse the list: reverse(x)." for every step.
std::string worked_steps(const CodeProgram& program, Dialect d) {
  std::string out;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    std::string words = description_of(program.steps[i]);
    words[0] = static_cast<char>(words[0] - 'a' + 'A');
    out += (out.empty() ? "" : " ") + words;
    if (d == Dialect::expression) {
      const std::string text = list_language_of(one_step(program, i));
      out += ": " + text.substr(text.find(" = ") + 3);
    }
    out += ".";
  }
  return out;
}

CodeTest shown_test(const CodeTask& t) { return t.shown.back(); }

std::vector<CodeTest> all_tests(const CodeTask& t) {
  std::vector<CodeTest> all = t.shown;
  all.insert(all.end(), t.hidden.begin(), t.hidden.end());
  return all;
}

// How the list language's function in the reply does on the tests; nothing: it cannot be read, which `why` tells.
std::optional<TestCount> counted(const Problem& p, std::string_view reply, std::string& why) {
  const std::vector<CodeTest> tests = tests_from(p.facts.at("tests"));
  std::vector<std::string> names = {"x"};
  std::vector<ValueType> types = {tests.at(0).arguments.x.type};
  if (tests[0].arguments.k) names.emplace_back("k"), types.push_back(ValueType::number);
  ListFunction f;
  try {
    f = parse_function(gym::final_answer(reply), names, types);
  } catch (const Error& e) {
    why = e.what();
    return {};
  }
  if (f.body.type != tests[0].expected.type) {
    why = "the function gives the wrong type";
    return {};
  }
  std::vector<TestOutput> outputs;
  for (const CodeTest& t : tests) {
    Outcome o = evaluate(f, t.arguments);
    outputs.push_back(o.problem.empty() ? TestOutput{std::move(o.value)} : TestOutput{{}, o.problem});
  }
  return count_passed(outputs, tests);
}

struct BrokenTask {
  CodeTask task;
  CodeProgram broken;
};

BrokenTask broken_task(Rng& r, const TaskSize& size) {
  for (int tries = 0; tries < 1000; ++tries) {
    CodeTask task = random_task(r, size);
    if (auto broken = with_error(task, r, size.dialect)) return {std::move(task), std::move(*broken)};
  }
  fail("no program with an error at difficulty {}", size.difficulty);
}

std::optional<Arguments> given_arguments(const Problem& p, std::string_view reply, Verdict& v) {
  const InputFormat format = format_from(p.facts.at("format"));
  const auto a = format.read(answer_text(reply));
  if (!a)
    v = {0, "the answer does not read as arguments"};
  else if (!format.admits(*a))
    v = {0, fmt::format("f({}) is not within the stated format", text_of(*a))};
  else
    return a;
  return {};
}

}  // namespace

Problem output_problem(Rng& r, const TaskSize& size) {
  const CodeTask t = random_task(r, size);
  const CodeTest test = shown_test(t);
  const std::string code = text_in(t.program, size.dialect);
  Problem p{.key = fmt::format("{} of {}", code, text_of(test.arguments))};
  if (size.dialect == Dialect::expression)
    p.question =
        fmt::format("{}What is f({})? {}", rules_before(t.program, size.dialect), text_of(test.arguments), code);
  else
    p.question = fmt::format("What does this program print?\n```python\n{}\nprint(repr(f({})))\n```",
                             python_of(t.program), text_of(test.arguments));
  p.steps = trace_of(t.program, test.arguments);
  p.answer = text_of(test.expected);
  p.facts.set("expected", to_json(test.expected));
  return p;
}

Verdict judge_output(const Problem& p, std::string_view reply) {
  const CodeValue expected = value_from(p.facts.at("expected"));
  const auto v = read_value(answer_text(reply), expected.type);
  if (!v) return {0, "the answer does not read as a value of the right type"};
  if (*v != expected) return {0, "expected " + text_of(expected)};
  return {1, "the value is right"};
}

Problem input_problem(Rng& r, const TaskSize& size) {
  const CodeTask t = random_task(r, size);
  const CodeTest test = shown_test(t);
  const std::string code = text_in(t.program, size.dialect);
  Problem p{.key = fmt::format("{} to {}", code, text_of(test.expected))};
  p.question =
      fmt::format("{}{}{}Give x{} for which f({}) is {}, where x is {}. If there are several, give one.",
                  rules_before(t.program, size.dialect), code, size.dialect == Dialect::expression ? ". " : "\n",
                  t.program.has_k ? " and k, separated by a comma," : "", arguments_name(t.program),
                  text_of(test.expected), t.format.text());
  p.steps = "Try " + trace_of(t.program, test.arguments) + " This is the result.";
  p.answer = text_of(test.arguments);
  p.facts.set("program", to_json(t.program)), p.facts.set("format", to_json(t.format));
  p.facts.set("expected", to_json(test.expected));
  return p;
}

Verdict judge_input(const Problem& p, std::string_view reply) {
  Verdict v;
  const auto a = given_arguments(p, reply, v);
  if (!a) return v;
  const auto found = run(program_from(p.facts.at("program")), *a);
  if (!found) return {0, fmt::format("f({}) goes beyond the bounds", text_of(*a))};
  if (*found != value_from(p.facts.at("expected")))
    return {0, fmt::format("f({}) is {}", text_of(*a), text_of(*found))};
  return {1, "it gives the result"};
}

Problem function_problem(Rng& r, const TaskSize& size) {
  const CodeTask t = random_task(r, size);
  const std::string description = description_of(t.program);
  Problem p{.key = description};
  p.question = fmt::format("Write {} {} of {}: {}. Return the result. Examples: {}. {}", function_name(size.dialect),
                           signature_text(t.program, size.dialect), given(t), description, t.examples(),
                           how_to_write(t.program, size.dialect));
  p.steps = worked_steps(t.program, size.dialect);
  p.answer = text_in(t.program, size.dialect);
  p.facts.set("tests", to_json(t.hidden));
  p.facts.set("language", size.dialect == Dialect::c ? "c" : "python");
  return p;
}

Verdict judge_function(const Problem& p, std::string_view reply) {
  std::string why;
  const auto count = counted(p, reply, why);
  if (!count) return {0, why};
  return {count->share(), count->reason};
}

Verdict judge_in_sandbox(const Problem& p, std::string_view reply) {
  const auto source = fenced_code(reply);
  if (!source) return {0, "no code between ``` fences"};
  const std::vector<CodeTest> tests = tests_from(p.facts.at("tests"));
  const Arguments& first = tests.at(0).arguments;
  const CodeSignature signature{first.x.type, tests[0].expected.type, first.k.has_value()};
  const CodeLanguage language = p.facts.at("language").as_string() == "c" ? CodeLanguage::c : CodeLanguage::python;
  const TestCount count = count_passed(shared_runner(language).run(*source, signature, arguments_of(tests)), tests);
  return {count.share(), count.reason};
}

std::optional<std::string> why_no_sandbox(Dialect dialect) {
  return why_unavailable(dialect == Dialect::c ? CodeLanguage::c : CodeLanguage::python);
}

Problem repair_problem(Rng& r, const TaskSize& size) {
  const BrokenTask b = broken_task(r, size);
  const std::vector<Arguments> wrong = differences(b.task, b.broken);
  const std::string code = text_in(b.broken, size.dialect);
  std::string examples;
  for (size_t i = wrong.size(); i-- > 0 && i + 2 >= wrong.size();)
    examples += fmt::format("{}f({}) gives {} instead of {}", examples.empty() ? "" : ", ", text_of(wrong[i]),
                            text_of(*run(b.broken, wrong[i])), text_of(*run(b.task.program, wrong[i])));
  Problem p{.key = fmt::format("{} as {}", description_of(b.task.program), code)};
  p.question = fmt::format(
      "This function of {} should do: {}. {}. It has an error: {}. Write it without the error. {}", given(b.task),
      description_of(b.task.program), code, examples, how_to_write(b.task.program, size.dialect));
  p.steps = worked_steps(b.task.program, size.dialect);
  p.answer = text_in(b.task.program, size.dialect);
  const std::vector<CodeTest> tests = all_tests(b.task);
  p.facts.set("tests", to_json(tests));
  p.facts.set("passed_before", static_cast<int64_t>(tests.size() - wrong.size()));
  return p;
}

Verdict judge_repair(const Problem& p, std::string_view reply) {
  std::string why;
  const auto count = counted(p, reply, why);
  if (!count) return {0, why};
  const auto before = static_cast<double>(p.facts.at("passed_before").as_int());
  const double gained = static_cast<double>(count->passed) - before;
  return {std::max(0.0, gained / (static_cast<double>(count->total) - before)), count->reason};
}

Problem falsify_problem(Rng& r, const TaskSize& size) {
  const BrokenTask b = broken_task(r, size);
  const std::vector<Arguments> wrong = differences(b.task, b.broken);
  const Arguments& a = wrong[r.below(wrong.size())];
  const std::string code = text_in(b.broken, size.dialect);
  Problem p{.key = fmt::format("{} against {}", code, description_of(b.task.program))};
  p.question = fmt::format(
      "This function should do: {}.\n{}\nIt does not always. Give x{} for which the result is wrong, where x is {}. "
      "If there are several, give one.",
      description_of(b.task.program), code, b.broken.has_k ? " and k, separated by a comma," : "",
      b.task.format.text());
  p.steps = fmt::format("As described: {} As written: {} The results differ.", trace_of(b.task.program, a),
                        trace_of(b.broken, a));
  p.answer = text_of(a);
  p.facts.set("program", to_json(b.task.program)), p.facts.set("candidate", to_json(b.broken));
  p.facts.set("format", to_json(b.task.format));
  return p;
}

Verdict judge_falsification(const Problem& p, std::string_view reply) {
  Verdict v;
  const auto a = given_arguments(p, reply, v);
  if (!a) return v;
  const auto right = run(program_from(p.facts.at("program")), *a),
             found = run(program_from(p.facts.at("candidate")), *a);
  if (!right || !found) return {0, fmt::format("f({}) goes beyond the bounds", text_of(*a))};
  if (*right == *found) return {0, fmt::format("f({}) is {} in both", text_of(*a), text_of(*found))};
  return {1, fmt::format("f({}) is {} instead of {}", text_of(*a), text_of(*found), text_of(*right))};
}

namespace {

class OfPrograms : public gym::Environment {
 public:
  explicit OfPrograms(const ProgramEnvironment& e) : e_(e) {}
  Problem generate(Rng& r, int64_t difficulty) const override {
    TaskSize size = e_.size;
    size.difficulty = difficulty;
    return e_.pose(r, size);
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return e_.judge(p, reply); }
  std::optional<int64_t> saturates_at() const override { return last_difficulty(e_.size); }
  std::optional<std::string> unavailable() const override {
    return e_.judge == judge_in_sandbox ? why_no_sandbox(e_.size.dialect) : std::nullopt;
  }

 private:
  ProgramEnvironment e_;
};

}  // namespace

std::unique_ptr<gym::Environment> program_environment(const ProgramEnvironment& e) {
  return std::make_unique<OfPrograms>(e);
}

}  // namespace quern::code

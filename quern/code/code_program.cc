#include "quern/code/code_program.h"

#include <cctype>

#include "quern/base/error.h"
#include "quern/code/expression.h"

namespace quern::code {
namespace {

constexpr size_t kLongestList = 10'000;

std::string filled(std::string_view text, std::string_view x, std::string_view n) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view mark = text.substr(i, 3);
    if (mark == "{x}" || mark == "{n}")
      out += mark == "{x}" ? x : n, i += 2;
    else
      out += text[i];
  }
  return out;
}

std::string constant_of(const StepAction& a) { return a.uses_k ? "k" : std::to_string(a.constant); }
std::string filled(std::string_view text, std::string_view x, const StepAction& a) {
  return filled(text, x, constant_of(a));
}
std::string filled_condition(std::string_view text, std::string_view x, const CodeStep& s) {
  return filled(text, x, std::to_string(s.condition_constant));
}

std::string indented(std::string_view text, std::string_view by) {
  std::string out(by);
  for (char c : text) {
    out += c;
    if (c == '\n') out += by;
  }
  return out + "\n";
}

bool is_bounded(const CodeValue& v) {
  const auto fits = [](int64_t n) { return n <= kMaxNumber && n >= -kMaxNumber; };
  for (int64_t n : v.list)
    if (!fits(n)) return false;
  return fits(v.number) && v.list.size() <= kLongestList && v.text.size() <= kLongestList;
}

// One step of the list language around the expression so far.
std::string list_language_step(const CodeStep& s, const std::string& so_far) {
  const std::string_view text = s.action.operation->expression;
  const bool several = text.find("{x}") != text.rfind("{x}");
  if (s.condition == nullptr && !several) return filled(text, "(" + so_far + ")", s.action);
  const std::string then = filled(text, "y", s.action);
  if (s.condition == nullptr) return fmt::format("let y = {} in {}", so_far, then);
  return fmt::format("let y = {} in if {} then {} else {}", so_far, filled_condition(s.condition->expression, "y", s),
                     then, filled(s.otherwise.operation->expression, "y", s.otherwise));
}

std::string c_step(const CodeStep& s, std::string_view x) {
  const std::string action = filled(s.action.operation->c, x, s.action);
  if (s.condition == nullptr) return "  " + action + "\n";
  return fmt::format("  if ({}) {{\n    {}\n  }} else {{\n    {}\n  }}\n", filled_condition(s.condition->c, x, s),
                     action, filled(s.otherwise.operation->c, x, s.otherwise));
}

std::string python_step(const CodeStep& s) {
  const std::string action = filled(s.action.operation->python, "x", s.action);
  if (s.condition == nullptr) return indented(action, "    ");
  return fmt::format("    if {}:\n{}    else:\n{}", filled_condition(s.condition->python, "x", s),
                     indented(action, "        "),
                     indented(filled(s.otherwise.operation->python, "x", s.otherwise), "        "));
}

Json action_json(const StepAction& a) {
  Json j = Json::array();
  j.push(std::string(a.operation->name)), j.push(a.uses_k ? Json() : Json(a.constant));
  return j;
}

StepAction action_from(const Json& name, const Json& constant) {
  StepAction a{.operation = &find_operation(name.as_string("operation")), .uses_k = constant.is_null()};
  if (!a.uses_k) a.constant = constant.as_int("constant");
  if (a.operation->has_constant() && !a.uses_k && a.constant < 1)
    fail("operation '{}': constant {}: expected 1 or more", a.operation->name, a.constant);
  return a;
}

}  // namespace

std::optional<CodeValue> run(const CodeStep& s, const CodeValue& x, int64_t k) {
  const bool first = s.condition == nullptr || s.condition->holds(x, s.condition_constant);
  const StepAction& a = first ? s.action : s.otherwise;
  CodeValue out = a.operation->apply(x, a.uses_k ? k : a.constant);
  if (!is_bounded(out)) return {};
  return out;
}

std::optional<CodeValue> run(const CodeProgram& program, const Arguments& a) {
  std::optional<CodeValue> v = a.x;
  for (const CodeStep& s : program.steps)
    if (v) v = run(s, *v, a.k.value_or(0));
  return v;
}

std::string description_of(const CodeStep& s) {
  const std::string action = filled(s.action.operation->english, "", s.action);
  if (s.condition == nullptr) return action;
  return fmt::format("if {}, {}, otherwise {}", filled_condition(s.condition->english, "", s), action,
                     filled(s.otherwise.operation->english, "", s.otherwise));
}

std::string description_of(const CodeProgram& program) {
  std::string out;
  for (const CodeStep& s : program.steps) out += (out.empty() ? "" : "; then ") + description_of(s);
  return out;
}

std::string trace_of(const CodeProgram& program, const Arguments& a) {
  std::string out = "x = " + text_of(a.x);
  if (a.k) out += fmt::format(", k = {}", *a.k);
  out += ".";
  std::optional<CodeValue> v = a.x;
  for (const CodeStep& s : program.steps) {
    v = run(s, *v, a.k.value_or(0));
    if (!v) break;
    std::string words = description_of(s);
    words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
    out += fmt::format(" {}: {}.", words, text_of(*v));
  }
  return out;
}

std::string python_of(const CodeProgram& program) {
  std::string out = program.has_k ? "def f(x, k):\n" : "def f(x):\n";
  for (const CodeStep& s : program.steps) out += python_step(s);
  return out + "    return x\n";
}

std::string c_of(const CodeProgram& program) {
  std::string out = c_declaration(program.signature()) + " {\n";
  std::string_view x = "x";
  for (const CodeStep& s : program.steps) {
    out += c_step(s, x);
    if (s.in() != s.out()) x = "y";
  }
  return fmt::format("{}  return {};\n}}\n", out, program.out() == ValueType::list ? "len" : x);
}

std::string list_language_of(const CodeProgram& program) {
  std::string text = "x";
  for (const CodeStep& s : program.steps) text = list_language_step(s, text);
  std::vector<std::string> names = {"x"};
  std::vector<ValueType> types = {program.in()};
  if (program.has_k) names.emplace_back("k"), types.push_back(ValueType::number);
  return text_of(parse_function(text, names, types));
}

Json to_json(const CodeProgram& program) {
  Json out = Json::array();
  for (const CodeStep& s : program.steps) {
    Json j = action_json(s.action);
    if (s.condition != nullptr) {
      j.push(std::string(s.condition->name)), j.push(s.condition_constant);
      const Json otherwise = action_json(s.otherwise);
      for (const Json& part : otherwise.as_array()) j.push(part);
    }
    out.push(std::move(j));
  }
  return out;
}

CodeProgram program_from(const Json& j) {
  CodeProgram out;
  for (const Json& step : j.as_array("program")) {
    const Json::Array& parts = step.as_array("step");
    if (parts.size() != 2 && parts.size() != 6) fail("step: expected 2 or 6 parts, found {}", parts.size());
    CodeStep s{.action = action_from(parts[0], parts[1])};
    if (parts.size() == 6) {
      s.condition = &find_condition(parts[2].as_string("condition"));
      s.condition_constant = parts[3].as_int("constant of the condition");
      s.otherwise = action_from(parts[4], parts[5]);
    }
    out.has_k = out.has_k || s.action.uses_k || s.otherwise.uses_k;
    out.steps.push_back(s);
  }
  if (out.steps.empty()) fail("program: no steps");
  return out;
}

}  // namespace quern::code

#include "quern/gym/tiny_program.h"

#include "quern/base/error.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

using Op = TinyStatement::Op;

constexpr std::string_view kVariables = "xyz";

TinyStatement simple_statement(Rng& r, size_t variables) {
  TinyStatement s{.variable = r.below(variables), .number = between(r, 2, 9), .modulus = between(r, 10, 30)};
  s.other = (s.variable + 1 + r.below(variables - 1)) % variables;
  s.op = std::array{Op::add, Op::add_variable, Op::multiply}[r.below(3)];
  return s;
}

}  // namespace

std::string TinyStatement::text() const {
  const char v = kVariables[variable], w = kVariables[other];
  switch (op) {
    case Op::set:
      return fmt::format("{} = {}", v, number);
    case Op::add:
      return fmt::format("{0} = {0} + {1}", v, number);
    case Op::add_variable:
      return fmt::format("{0} = ({0} + {1}) % {2}", v, w, modulus);
    case Op::multiply:
      return fmt::format("{0} = ({0} * {1}) % {2}", v, number, modulus);
    case Op::repeat:
      return fmt::format("repeat {} times {{ {} }}", number, text_of(body));
    case Op::if_greater:
      return fmt::format("if {} > {} {{ {} }}", v, w, text_of(body));
  }
  return "";
}

std::string text_of(const TinyProgram& program) {
  std::string s;
  for (const TinyStatement& statement : program) s += (s.empty() ? "" : "; ") + statement.text();
  return s;
}

void run(const TinyProgram& program, TinyState& state, std::string* trace) {
  for (const TinyStatement& s : program) {
    int64_t& v = state[s.variable];
    switch (s.op) {
      case Op::set:
        v = s.number;
        break;
      case Op::add:
        v += s.number;
        break;
      case Op::add_variable:
        v = (v + state[s.other]) % s.modulus;
        break;
      case Op::multiply:
        v = v * s.number % s.modulus;
        break;
      case Op::repeat:
        for (int64_t k = 0; k < s.number; ++k) run(s.body, state, trace);
        continue;
      case Op::if_greater:
        if (v > state[s.other]) run(s.body, state, trace);
        continue;
    }
    if (trace != nullptr) *trace += fmt::format("{} = {}, ", kVariables[s.variable], v);
  }
}

TinyProgram random_program(Rng& r, int64_t statements, size_t variables) {
  TinyProgram program;
  for (int64_t i = 0; i < statements; ++i) {
    TinyStatement s = simple_statement(r, variables);
    if (i > 0 && r.below(3) == 0) {
      s.op = r.below(2) == 1 ? Op::repeat : Op::if_greater;
      s.number = between(r, 2, 4);
      s.body = {simple_statement(r, variables), simple_statement(r, variables)};
    }
    program.push_back(s);
  }
  return program;
}

Json to_json(const TinyProgram& program) {
  Json out = Json::array();
  for (const TinyStatement& s : program) {
    Json j = Json::object();
    j.set("op", static_cast<int64_t>(s.op));
    j.set("variable", static_cast<int64_t>(s.variable)), j.set("other", static_cast<int64_t>(s.other));
    j.set("number", s.number), j.set("modulus", s.modulus), j.set("body", to_json(s.body));
    out.push(std::move(j));
  }
  return out;
}

TinyProgram tiny_program(const Json& json) {
  TinyProgram out;
  for (const Json& j : json.as_array())
    out.push_back({.op = static_cast<Op>(j.at("op").as_int()),
                   .variable = static_cast<size_t>(j.at("variable").as_int()),
                   .other = static_cast<size_t>(j.at("other").as_int()),
                   .number = j.at("number").as_int(),
                   .modulus = j.at("modulus").as_int(),
                   .body = tiny_program(j.at("body"))});
  return out;
}

}  // namespace quern::gym

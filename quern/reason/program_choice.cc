#include "quern/reason/program_choice.h"

#include <algorithm>
#include <map>

namespace quern::reason {
namespace {

std::string results_text(const std::vector<code::TestOutput>& outputs) {
  std::string s;
  for (const code::TestOutput& o : outputs) s += (o.value ? text_of(*o.value) : "no result") + "\n";
  return s;
}

bool gives_any(const std::vector<code::TestOutput>& outputs) {
  return std::ranges::any_of(outputs, [](const code::TestOutput& o) { return o.value.has_value(); });
}

}  // namespace

ProgramChoice choose_program(std::span<const std::string> programs, const ProgramProblem& problem,
                             const RunOnInputs& run) {
  std::vector<code::Arguments> all = arguments_of(problem.public_tests);
  all.insert(all.end(), problem.inputs.begin(), problem.inputs.end());
  std::map<std::string, std::vector<code::TestOutput>> outputs;
  ProgramChoice out;
  bool any_passes = false;
  for (const std::string& p : programs) {
    auto at = outputs.find(p);
    if (at == outputs.end())
      at = outputs.emplace(p, p.empty() ? std::vector<code::TestOutput>(all.size()) : run(p, all)).first;
    out.passed.push_back(count_passed(at->second, problem.public_tests).passed);
    any_passes = any_passes || (out.passed.back() == problem.public_tests.size() && gives_any(at->second));
  }
  std::map<std::string, int64_t> group_of;  // by results
  std::vector<size_t> sizes;
  size_t competing = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    const auto& results = outputs.at(programs[i]);
    const bool competes = gives_any(results) && (!any_passes || out.passed[i] == problem.public_tests.size());
    out.groups.push_back(-1);
    if (!competes) continue;
    const auto [at, fresh] = group_of.emplace(results_text(results), static_cast<int64_t>(sizes.size()));
    if (fresh) sizes.push_back(0);
    ++sizes[static_cast<size_t>(at->second)], ++competing;
    out.groups[i] = at->second;
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    if (out.groups[i] < 0) continue;
    const size_t size = sizes[static_cast<size_t>(out.groups[i])];
    const auto best = static_cast<size_t>(std::max<int64_t>(out.chosen, 0));
    const size_t best_size = out.chosen < 0 ? 0 : sizes[static_cast<size_t>(out.groups[best])];
    if (size > best_size || (size == best_size && programs[i].size() < programs[best].size()))
      out.chosen = static_cast<int64_t>(i),
      out.agreement = static_cast<double>(size) / static_cast<double>(competing);
  }
  out.passes_public_tests = any_passes;
  return out;
}

ProgramChoice choose_program(std::span<const std::string> programs, const ProgramProblem& problem,
                             code::CodeLanguage language) {
  return choose_program(programs, problem, [&](const std::string& p, std::span<const code::Arguments> inputs) {
    return code::shared_runner(language).run(p, problem.signature, inputs);
  });
}

}  // namespace quern::reason

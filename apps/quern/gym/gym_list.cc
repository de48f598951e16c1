// quern gym list: the environments of this build, by group.
#include <cctype>
#include <map>

#include "apps/quern/cli/args.h"
#include "apps/quern/gym/gym_commands.h"
#include "quern/base/json.h"

namespace quern::cli {
namespace {

using gym::NamedEnvironment;

Json description(const NamedEnvironment& e) {
  const std::optional<int64_t> top = e.environment->saturates_at();
  Json j = Json::object();
  j.set("name", e.name), j.set("group", e.group), j.set("summary", e.summary);
  j.set("saturates_at", top ? Json(*top) : Json());
  const std::optional<std::string> why = e.environment->unavailable();
  j.set("unavailable", why ? Json(*why) : Json());
  return j;
}

using Groups = std::map<std::string, Environments>;

std::string last_difficulty(const NamedEnvironment& e) {
  const std::optional<int64_t> top = e.environment->saturates_at();
  return top ? std::to_string(*top) : "";
}

void print_groups(const Groups& groups) {
  const char* gap = "";
  for (const auto& [group, members] : groups) {
    fmt::print("{}{}\n", gap, group);
    for (const NamedEnvironment* e : members) {
      const std::string top = last_difficulty(*e);
      const std::optional<std::string> why = e->environment->unavailable();
      fmt::print("  {:<18} {}{}{}\n", e->name, e->summary,
                 top.empty() ? "" : fmt::format(" (as hard from difficulty {} on)", top),
                 why ? fmt::format(" (not on this machine: {})", *why) : "");
    }
    gap = "\n";
  }
}

// Characters of a question, the mean of 50.
size_t question_length(const NamedEnvironment& e, int64_t difficulty) {
  constexpr uint64_t kQuestions = 50;
  size_t sum = 0;
  for (uint64_t seed = 0; seed < kQuestions; ++seed) sum += e.generate(seed, difficulty).question.size();
  return (sum + kQuestions / 2) / kQuestions;
}

// docs/gym/environments.md: a table for each group, and a problem of each environment.
void print_markdown(const Groups& groups) {
  for (const auto& [group, members] : groups) {
    fmt::print("## {}{}\n\n", static_cast<char>(std::toupper(static_cast<unsigned char>(group[0]))), group.substr(1));
    fmt::print("| environment | problems | characters at difficulty 0, 4, 16 | as hard from |\n|---|---|---|---|\n");
    for (const NamedEnvironment* e : members)
      fmt::print("| `{}` | {} | {}, {}, {} | {} |\n", e->name, e->summary, question_length(*e, 0),
                 question_length(*e, 4), question_length(*e, 16), last_difficulty(*e));
    for (const NamedEnvironment* e : members)
      fmt::print("\n`{}`:\n\n```text\n{}\n```\n", e->name, e->generate(1, 1).question);
    fmt::print("\n");
  }
}

}  // namespace

int gym_list(Words args) {
  std::vector<std::string> names;
  bool json = false, markdown = false;
  Args a("gym list", "list the environments of this build by group");
  a.rest("NAME", names)
      .flag("--json", json, "print one JSON array")
      .flag("--markdown", markdown, "print tables with a problem of each, as docs/gym/environments.md has them")
      .note("NAME picks environments. docs/gym/adding-an-environment.md shows how to add one.");
  if (!a.parse(args)) return 0;
  const Environments all = environments_named("gym list", names);
  if (json) {
    Json list = Json::array();
    for (const NamedEnvironment* e : all) list.push(description(*e));
    fmt::print("{}\n", list.dump());
    return 0;
  }
  Groups groups;
  for (const NamedEnvironment* e : all) groups[e->group].push_back(e);
  markdown ? print_markdown(groups) : print_groups(groups);
  return 0;
}

}  // namespace quern::cli

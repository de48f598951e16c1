#include "quern/gym/task_file.h"

#include <map>

#include "quern/base/error.h"
#include "quern/base/mmap.h"

namespace quern::gym {
namespace {

uint64_t hash_of(std::string_view text) {
  uint64_t h = mix64(text.size() + 0x9e3779b97f4a7c15ull);
  for (unsigned char c : text) h = mix64(h * 31 + c + 1);
  return h;
}

std::string text_of(const Json& line, std::string_view field) {
  const Json* v = line.find(field);
  if (!v) return {};
  if (!v->is_string() || v->as_string().empty())
    fail("field '{}': expected a string that is not empty, found {}", field, v->dump());
  return v->as_string();
}

}  // namespace

Task parse_task(const Json& line) {
  if (!line.is_object()) fail("expected an object, found {}", line.dump());
  Task t;
  t.problem.question = text_of(line, "question");
  if (t.problem.question.empty()) fail("field 'question' is missing");
  const uint64_t hash = hash_of(t.problem.question);
  t.problem.key = fmt::format("{:016x}", hash);
  t.problem.steps = text_of(line, "solution");
  t.id = line.find("id") ? text_of(line, "id") : t.problem.key;
  const std::string split = text_of(line, "split");
  if (!split.empty() && split != "train" && split != "held_out")
    fail("field 'split': expected 'train' or 'held_out', found '{}'", split);
  const bool held_out = split.empty() ? mix64(hash) % 10 == 0 : split == "held_out";
  t.split = held_out ? data::Split::held_out : data::Split::train;
  t.problem.facts = line;
  for (const char* field : {"question", "solution", "id", "split"}) t.problem.facts.erase(field);
  t.verifier = verify::make_verifier(t.problem.facts);
  t.problem.kind = t.problem.facts.at("verifier").as_string();
  if (const Json* answer = t.problem.facts.find("answer"))
    t.problem.answer = answer->is_string() ? answer->as_string() : answer->dump();
  return t;
}

std::vector<Task> read_tasks(const std::filesystem::path& f) {
  const std::string text = read_file(f);
  std::vector<Task> tasks;
  std::map<std::string, size_t> questions, ids;  // the line of each
  size_t number = 0;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = std::string_view(text).substr(from, end - from);
    from = end + 1, ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = fmt::format("{} line {}", f.string(), number);
    const Json j = Json::parse(line, where);
    try {
      tasks.push_back(parse_task(j));
    } catch (const Error& e) {
      fail("{}: {}", where, e.what());
    }
    const auto [question, fresh] = questions.emplace(tasks.back().problem.key, number);
    if (!fresh) fail("{}: field 'question': that of line {} again", where, question->second);
    const auto [id, unused] = ids.emplace(tasks.back().id, number);
    if (!unused) fail("{}: field 'id': '{}' is that of line {}", where, tasks.back().id, id->second);
  }
  if (tasks.empty()) fail("{}: no tasks", f.string());
  return tasks;
}

}  // namespace quern::gym

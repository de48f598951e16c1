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

// Calls use(line, number) for each line that is not blank; an Error of it gets file and line in front.
template <class F>
void each_line(const std::filesystem::path& f, F&& use) {
  const std::string text = read_file(f);
  size_t number = 0;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = std::string_view(text).substr(from, end - from);
    from = end + 1, ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = fmt::format("{} line {}", f.string(), number);
    const Json j = Json::parse(line, where);
    try {
      use(j, number);
    } catch (const Error& e) {
      fail("{}: {}", where, e.what());
    }
  }
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
  std::vector<Task> tasks;
  std::map<std::string, size_t> questions, ids;  // the line of each
  each_line(f, [&](const Json& line, size_t number) {
    tasks.push_back(parse_task(line));
    const auto [question, fresh] = questions.emplace(tasks.back().problem.key, number);
    if (!fresh) fail("field 'question': that of line {} again", question->second);
    const auto [id, unused] = ids.emplace(tasks.back().id, number);
    if (!unused) fail("field 'id': '{}' is that of line {}", tasks.back().id, id->second);
  });
  if (tasks.empty()) fail("{}: no tasks", f.string());
  return tasks;
}

std::vector<TaskReply> read_replies(const std::filesystem::path& f, const std::vector<Task>& tasks) {
  std::map<std::string_view, size_t> ids, questions;
  for (size_t i = 0; i < tasks.size(); ++i) ids[tasks[i].id] = i, questions[tasks[i].problem.question] = i;
  std::vector<int64_t> seen(tasks.size());
  std::vector<TaskReply> out;
  each_line(f, [&](const Json& line, size_t) {
    if (!line.is_object()) fail("expected an object, found {}", line.dump());
    const bool by_id = line.find("id") != nullptr;
    if (!by_id && !line.find("question")) fail("field 'id' is missing, and 'question' as well");
    const std::string name = text_of(line, by_id ? "id" : "question");
    const auto& known = by_id ? ids : questions;
    const auto at = known.find(name);
    if (at == known.end()) fail("field '{}': no task has '{}'", by_id ? "id" : "question", name);
    const Json* reply = line.find(line.find("reply") ? "reply" : "response");
    if (!reply) fail("field 'reply' is missing");
    if (!reply->is_string()) fail("field 'reply': expected a string, found {}", reply->dump());
    out.push_back({.task = at->second, .sample = seen[at->second]++, .text = reply->as_string()});
  });
  if (out.empty()) fail("{}: no replies", f.string());
  return out;
}

}  // namespace quern::gym

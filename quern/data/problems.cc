// Generates problems of a split and their written forms, and parses answers.
#include "quern/data/problems.h"

#include <array>
#include <cctype>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/nearest.h"

namespace quern {
namespace {

using Maker = Problem (*)(Rng&, int);
constexpr std::array<std::string_view, 8> kKinds = {"arithmetic", "lists",   "logic", "dates",
                                                    "units",      "stories", "walks", "routes"};
constexpr std::array<Maker, 8> kMakers = {problems::arithmetic, problems::lists,   problems::logic, problems::dates,
                                          problems::units,      problems::stories, problems::walks, problems::routes};

bool held_out(std::string_view key) {
  uint64_t h = 0x51ed270b;
  for (unsigned char c : key) h = mix64(h * 31 + c + 1);
  return h % 10 == 0;
}

size_t kind_index(const std::string& name) {
  for (size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i] == name) return i;
  fail("unknown kind of problem '{}'{} (known: {})", name, did_you_mean(name, {kKinds.begin(), kKinds.end()}),
       fmt::join(kKinds, ", "));
}

}  // namespace

std::span<const std::string_view> problem_kinds() { return kKinds; }

void check(const ProblemOptions& o) {
  if (o.min_level < 1 || o.max_level > 5 || o.min_level > o.max_level)
    fail("levels {} to {}, expected within 1 to 5", o.min_level, o.max_level);
  for (const std::string& k : o.kinds) kind_index(k);
}

void read_levels(std::string_view text, ProblemOptions& o) {
  auto number = [&](std::string_view part) {
    if (part.size() != 1 || part[0] < '1' || part[0] > '5')
      fail("level '{}', expected 1 to 5 or a range like 2-4", text);
    return part[0] - '0';
  };
  const size_t dash = text.find('-');
  o.min_level = number(text.substr(0, dash));
  o.max_level = dash == text.npos ? o.min_level : number(text.substr(dash + 1));
}

Problem curriculum_problem(const ProblemOptions& o, uint64_t index) {
  const bool wanted = o.split == Split::held_out;
  // Both splits draw the same way; only what they keep differs.
  for (uint64_t attempt = 0;; ++attempt) {
    Rng r(mix64(o.seed) + attempt, index * 2 + wanted);
    const size_t kind = o.kinds.empty() ? r.below(kKinds.size()) : kind_index(o.kinds[r.below(o.kinds.size())]);
    const int level = o.min_level + static_cast<int>(r.below(static_cast<uint64_t>(o.max_level - o.min_level + 1)));
    Problem p = kMakers[kind](r, level);
    p.kind = kKinds[kind], p.level = level;
    p.key = p.kind + ": " + p.key;
    if (held_out(p.key) == wanted) return p;
  }
}

Problem worked_again(const Problem& p, Rng& r, std::string_view seen, double cut_short) {
  if (p.search.empty()) return p;
  Problem out = p;
  const bool finds = !(cut_short > 0 && r.uniform() < cut_short);
  SearchWorking w = search_working(p.search, r, finds, seen);
  out.steps = std::move(w.steps), out.found = w.answer == p.answer ? "" : std::move(w.answer);
  return out;
}

namespace {

const std::string& said(const Problem& p) { return p.found.empty() ? p.answer : p.found; }

}  // namespace

std::string plain_form(const Problem& p) {
  return fmt::format("Question: {}\n{}\nAnswer: {}\n", p.question, p.steps, said(p));
}

std::string assistant_content(const Problem& p, std::string_view lead) {
  return fmt::format("<think>\n{}{}\n</think>\n\nAnswer: {}", lead, p.steps, said(p));
}

std::string chat_line(const Problem& p, std::string_view prompt, std::string_view lead) {
  auto message = [](const char* role, std::string content) {
    Json m = Json::object();
    m.set("role", role), m.set("content", std::move(content));
    return m;
  };
  Json messages = Json::array(), j = Json::object();
  messages.push(message("user", std::string(prompt.empty() ? p.question : prompt)));
  messages.push(message("assistant", assistant_content(p, lead)));
  j.set("messages", std::move(messages));
  j.set("kind", p.kind), j.set("level", p.level), j.set("answer", p.answer);
  return j.dump() + "\n";
}

std::string final_answer(std::string_view text) {
  constexpr std::string_view kClose = "</think>", kMark = "Answer:";
  if (size_t close = text.rfind(kClose); close != text.npos) text.remove_prefix(close + kClose.size());
  if (size_t mark = text.rfind(kMark); mark != text.npos) {
    text.remove_prefix(mark + kMark.size());
    text = text.substr(0, text.find('\n'));
  }
  std::string out;
  for (char c : text) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (!std::isspace(u))
      out += static_cast<char>(std::tolower(u));
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

bool answers(std::string_view text, const Problem& p) { return final_answer(text) == final_answer(p.answer); }

}  // namespace quern

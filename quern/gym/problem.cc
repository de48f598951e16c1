#include "quern/gym/problem.h"

#include "quern/base/error.h"

namespace quern::gym {

Problem worked_again(const Problem& p, Rng& r, std::string_view seen, double cut_short) {
  if (p.search.empty()) return p;
  Problem out = p;
  const SearchEnd end = cut_short > 0 && r.uniform() < cut_short ? SearchEnd::misses : SearchEnd::finds;
  SearchWorking w = search_working(p.search, r, end, seen);
  out.steps = std::move(w.steps), out.found = w.answer == p.answer ? "" : std::move(w.answer);
  return out;
}

namespace {

const std::string& said(const Problem& p) { return p.found.empty() ? p.answer : p.found; }

Json message(const char* role, std::string content) {
  Json m = Json::object();
  m.set("role", role), m.set("content", std::move(content));
  return m;
}

std::string chat_of(const Problem& p, std::string prompt, std::string reply) {
  Json messages = Json::array(), j = Json::object();
  messages.push(message("user", std::move(prompt)));
  messages.push(message("assistant", std::move(reply)));
  j.set("messages", std::move(messages));
  j.set("kind", p.kind), j.set("level", p.level), j.set("answer", p.answer);
  return j.dump() + "\n";
}

}  // namespace

std::string plain_form(const Problem& p) {
  return fmt::format("Question: {}\n{}\nAnswer: {}\n", p.question, p.steps, said(p));
}

std::string assistant_content(const Problem& p, std::string_view lead) {
  return fmt::format("<think>\n{}{}\n</think>\n\nAnswer: {}", lead, p.steps, said(p));
}

std::string chat_line(const Problem& p, std::string_view prompt, std::string_view lead) {
  return chat_of(p, std::string(prompt.empty() ? p.question : prompt), assistant_content(p, lead));
}

std::string chat_line_of_reply(const Problem& p, std::string reply) {
  return chat_of(p, p.question, std::move(reply));
}

bool answers(std::string_view text, const Problem& p) { return final_answer(text) == final_answer(p.answer); }

}  // namespace quern::gym

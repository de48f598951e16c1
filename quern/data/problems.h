// Synthetic reasoning problems, procedurally generated: arithmetic with worked steps, lists, logic, dates, units,
// short stories with a question, and searches for the best of many trials, in five levels. Each has one correct answer
// that a program can check, and a solution that leads to it. All text is generated here; a problem is a function of
// (seed, index, split) and the selected kinds and levels. Split by construction: a tenth of all problems, by a hash of
// what they ask (not how: 3 + 5 and 8 - 5 share a key), is held out and never used for training.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/rng.h"
#include "quern/data/curriculum.h"
#include "quern/data/search.h"

namespace quern {

struct Problem {
  std::string kind = {};
  int level = 1;
  std::string question = {}, steps = {}, answer = {};
  std::string found = {};  // what a search that stopped short came to, instead of the answer
  std::string key = {};    // what decides the split
  Search search = {};      // of walks and routes: what could be tried
};

struct ProblemOptions {
  Split split = Split::train;
  uint64_t seed = 0;
  int min_level = 1, max_level = 5;
  std::vector<std::string> kinds = {};  // empty: all
};
void check(const ProblemOptions& o);                         // throws Error naming the field
void read_levels(std::string_view text, ProblemOptions& o);  // "3" or "2-4"

std::span<const std::string_view> problem_kinds();
Problem curriculum_problem(const ProblemOptions& o, uint64_t index);

// The problem with another working, as of somebody who has read `seen`, attempts at it: a search goes on from the
// best of them. The chance that it stops short of a solution that was not seen is `cut_short`; other kinds keep their
// working.
Problem worked_again(const Problem& p, Rng& r, std::string_view seen = {}, double cut_short = 0);

std::string plain_form(const Problem& p);  // "Question: …\n…\nAnswer: …\n"
// One line of chat JSONL: messages, kind, level, answer. The user asks `prompt`, or the question itself; `lead`
// stands before the steps.
std::string chat_line(const Problem& p, std::string_view prompt = {}, std::string_view lead = {});
std::string assistant_content(const Problem& p, std::string_view lead = {});  // "<think>\n…\n</think>\n\nAnswer: …"

// What a text gives as its answer: behind </think>, what follows the last "Answer:" on its line, else all of it;
// lower case, single spaces, no full stop at the end.
std::string final_answer(std::string_view text);
bool answers(std::string_view text, const Problem& p);

namespace problems {  // one maker a kind; level 1 … 5
Problem arithmetic(Rng& r, int level);
Problem lists(Rng& r, int level);
Problem logic(Rng& r, int level);
Problem dates(Rng& r, int level);
Problem units(Rng& r, int level);
Problem stories(Rng& r, int level);
Problem walks(Rng& r, int level);
Problem routes(Rng& r, int level);
}  // namespace problems

}  // namespace quern

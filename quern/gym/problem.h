// A problem of the gym: a question, what only the verifier may see (answer, worked solution, facts), its written forms,
// and reading an answer out of a reply.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "quern/base/json.h"
#include "quern/base/rng.h"
#include "quern/gym/search.h"
#include "quern/verify/answer_text.h"

namespace quern::gym {

enum class ProblemSplit { train, dev, test };  // see splits.h

struct Problem {
  std::string kind = {};                               // the environment's name
  int level = 0;                                       // of the curriculum, 1 to 5; 0: made by difficulty alone
  int64_t difficulty = 0;                              // level - 1, or whatever was asked for
  std::string question = {}, steps = {}, answer = {};  // the worked solution; both empty: the environment has none
  std::string found = {};  // what a search that stopped short came to, instead of the answer
  std::string key = {};    // what decides the split: what is asked, not how
  Search search = {};      // of walks and routes: what could be tried
  Json facts = {};         // what else the environment's verify() needs
};

// The problem with another working, as of somebody who has read `seen`, attempts at it: a search goes on from the
// best of them. The chance that it stops short of a solution that was not seen is `cut_short`; other kinds keep their
// working.
Problem worked_again(const Problem& p, Rng& r, std::string_view seen = {}, double cut_short = 0);

std::string plain_form(const Problem& p);  // "Question: …\n…\nAnswer: …\n"
// One line of chat JSONL: messages, kind, level, answer. The user asks `prompt`, or the question itself; `lead`
// stands before the steps.
std::string chat_line(const Problem& p, std::string_view prompt = {}, std::string_view lead = {});
std::string chat_line_of_reply(const Problem& p, std::string reply);  // the same with this answer
std::string assistant_content(const Problem& p, std::string_view lead = {});  // "<think>\n…\n</think>\n\nAnswer: …"

using verify::final_answer;
bool answers(std::string_view text, const Problem& p);

}  // namespace quern::gym

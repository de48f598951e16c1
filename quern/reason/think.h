// Test-time compute on one question: runs a ThinkPlan (plan.h) on the engine. Between rounds only the tails survive:
// token ids, never text that would be tokenized again. Who reads whom is sampled from the seed before anything runs,
// so a candidate starts as soon as those it reads are done, and the same seed gives the same tokens however the engine
// interleaves the work.
//   prompt of round 0      the conversation
//   of a later round       the conversation with its last question set into the aggregation prompt around C tails;
//                          with C = 1 the conversation and the beginning of an answer: the candidate's own tail
// A candidate may think β tokens. In the last round one that has not finished by then has its thinking closed and the
// answer requested, within `final` tokens in all.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quern/infer/engine/engine.h"
#include "quern/reason/plan.h"
#include "quern/text/chat/chat_template.h"

namespace quern::reason {

struct Candidate {
  int64_t round = 0, index = 0;
  std::vector<int64_t> sources;  // indices of the round before that were read; the candidate's own is not implied
  std::vector<int32_t> prompt;   // what it read
  std::vector<int32_t> tokens;   // all that was generated, and the closing where one was set in
  int64_t drawn = 0;             // of them
  std::string text, answer;      // answer: normal form is compared, this is as written; empty when there is none
  std::vector<int32_t> carried;  // what the next round sees of it
  double mean_logprob = 0;
  bool closed_by_force = false;
  std::string finish, error;
};

struct ThinkResult {
  std::vector<Candidate> candidates;  // by round, then index
  int64_t chosen = -1;                // position in candidates; −1: none finished
  double agreement = 0;               // share of the last round's candidates with the chosen answer
  int64_t new_tokens = 0, prompt_tokens = 0, longest_prompt = 0;
  double seconds = 0;  // from the first submission to the last token
  // Sums over the candidates, as in Generated.
  int64_t cached_tokens = 0;
  double prompt_seconds = 0, decode_seconds = 0;
  infer::Speculated speculated;
  const Candidate* best() const { return chosen < 0 ? nullptr : &candidates[static_cast<size_t>(chosen)]; }
};

struct ThinkEvent {  // after each candidate
  const Candidate& candidate;
  int64_t done = 0, all = 0, new_tokens = 0;
  double agreement = 0;  // of the answers of its round so far
};

struct ThinkRequest {
  const text::Tokenizer& tokenizer;
  const text::ChatTemplate& chat_template;
  Json messages;  // as a chat template reads them, a user turn at the end
  ThinkPlan plan = {};
  infer::GenerateOptions options = {};
};

class ThinkRunner {
 public:
  ThinkRunner(infer::Engine& engine, ThinkRequest request);  // engine, tokenizer and template must outlive it
  ~ThinkRunner();
  void on_event(std::function<void(const ThinkEvent&)> f);
  bool advance();  // takes what the engine has finished, submits what can begin; false: all is done
  void cancel();   // what runs is cancelled; advance() then winds down
  const ThinkResult& thought() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// To the end, stepping the engine.
ThinkResult think(infer::Engine& engine, ThinkRequest request,
                  const std::function<void(const ThinkEvent&)>& on_event = {});

}  // namespace quern::reason

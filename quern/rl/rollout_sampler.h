// Samples groups of answers to problems of the gym and has them judged. All answers are in the engine together
// (continuous batching); a group is handed out when the last of its answers has ended. What is sampled depends on the
// weights, the problems, the seeds and the order of these calls alone.
//
// Answers may outlive the weights that began them: pause() stops all where they are, the weights are exchanged, and
// resume() has the new weights read what there is and go on (in-flight weight updates). Nothing that old weights
// computed stays, so groups under way are no more than their tokens and can be kept in a checkpoint.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/infer/engine/engine.h"
#include "quern/rl/rollouts.h"
#include "quern/text/chat/chat_template.h"

namespace quern::rl {

// What every answer of a run is sampled with.
struct RolloutOptions {
  int64_t group = 8, max_tokens = 256, max_length = 0;  // max_length: of prompt and answer
  double temperature = 1, min_compression = 0.05;
  std::vector<int64_t> stop_ids;
};

// A problem that a group of answers is sampled to. `id` is the caller's; `seed` is that of the answers. `prompt` is
// that of the question alone (prompt_of), an aggregation prompt around it, or empty: then it is made.
struct RolloutRequest {
  int64_t id = 0;
  const gym::NamedEnvironment* environment = nullptr;
  gym::Problem problem = {};
  uint64_t problem_seed = 0, seed = 0;
  std::vector<int32_t> prompt = {};
  bool aggregates = false;
};

struct GroupUnderWay {
  int64_t id = 0;
  uint64_t seed = 0;
  RolloutGroup group;       // with the tokens so far
  std::vector<bool> ended;  // of its answers
};

struct FinishedGroup {
  int64_t id = 0;
  RolloutGroup group;
};

class RolloutSampler {
 public:
  // The engine's tokenizer must be this one. All must outlive the sampler.
  RolloutSampler(infer::Engine& engine, const text::Tokenizer& tokenizer, const text::ChatTemplate& chat_template,
                 RolloutOptions options);

  void start(RolloutRequest request, int64_t version);
  bool step();                        // one forward pass of the engine; false: no answer is under way
  std::vector<FinishedGroup> take();  // groups that have ended since the last call, in the order of their ends
  int64_t groups_under_way() const { return static_cast<int64_t>(running_.size()); }

  void pause();
  void resume(int64_t version);
  const std::vector<GroupUnderWay>& paused() const { return paused_; }
  std::vector<int64_t> drop_older(int64_t version);  // while paused: whole groups with older tokens; their ids
  void restore(std::vector<GroupUnderWay> groups) { paused_ = std::move(groups); }
  void clear();  // forgets all groups, whatever they have come to

  std::vector<RolloutGroup> run(std::vector<RolloutRequest> requests, int64_t version);  // in their order
  std::vector<int32_t> prompt_of(const gym::Problem& p) const;
  // The aggregation prompt around the ends, of up to `tail` tokens, of these of its answers.
  std::vector<int32_t> aggregation_prompt_of(const RolloutGroup& g, std::span<const int64_t> answers,
                                             int64_t tail) const;
  bool fits(std::span<const int32_t> prompt) const;  // with at least one token of an answer, into max_length

 private:
  struct Running {
    GroupUnderWay at;
    std::vector<infer::Engine::Id> ids;  // of the answers that have not ended
  };
  void submit(Running& r, int64_t version);
  bool collect(Running& r);  // true: all have ended
  int64_t room(const RolloutGroup& g) const;
  void judge(RolloutGroup& g) const;
  void judge(const RolloutGroup& group, Rollout& r) const;

  infer::Engine& engine_;
  const text::Tokenizer& tokenizer_;
  const text::ChatTemplate& chat_template_;
  RolloutOptions o_;
  std::vector<Running> running_;
  std::vector<GroupUnderWay> paused_;
  std::vector<FinishedGroup> finished_;
};

}  // namespace quern::rl

// RUN/metrics.jsonl, the record of a run: one JSON object per line, of three kinds.
//   step        {"step", "phase", "loss", "bpb", "tokens", "tokens_per_s", "mfu", "lr", "grad_norm", "time_s", …}
//   evaluation  {"step", "tokens", "set", "eval_loss", "eval_bpb"}
//   event       {"step", "tokens", "event", "text"}: spike, rollback, restart, phase …
// Unknown values are absent (bpb, mfu, balance); a number that is not finite is null. Every line is one write(), so a
// killed run leaves at most its last line half-written. Rolling back to an earlier step moves the lines of later steps
// to metrics.discarded.jsonl; events stay, because they did happen (a new run in an old folder moves them too).
#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace quern::train {

struct StepMetrics {
  int64_t step = 0;  // finished steps: the first line says 1
  std::string phase;
  double loss = std::numeric_limits<double>::quiet_NaN();  // nats a token
  std::optional<double> bpb;
  int64_t tokens = 0;  // seen since the run began
  std::optional<double> tokens_per_s, mfu;
  double lr = std::numeric_limits<double>::quiet_NaN(), grad_norm = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> balance;
  // Of reinforcement learning.
  std::optional<double> reward, solved, signal, answer_tokens, finished, difficulty, staleness, evicted, masked, kl,
      entropy, max_ratio, repeated, rare;
  std::optional<double> margin, accuracy, chosen_reward, rejected_reward;  // of learning from preferences
  double time_s = 0, data_s = 0, forward_s = 0, backward_s = 0, reduce_s = 0, optimizer_s = 0, checkpoint_s = 0,
         other_s = 0;
  template <class V>
  void visit(V& v) {
    v("step", step, "steps finished");
    v("phase", phase, "phase of the recipe");
    v("loss", loss, "training loss in nats per token");
    v("bpb", bpb, "training loss in bits per byte of text");
    v("tokens", tokens, "tokens seen");
    v("tokens_per_s", tokens_per_s, "tokens per second of this step");
    v("mfu", mfu, "model FLOPs utilization, 0 to 1");
    v("lr", lr, "learning rate");
    v("grad_norm", grad_norm, "global gradient norm before clipping");
    v("balance", balance, "expert load balance, 0 to 1: normalized entropy of the experts' load, mean over layers");
    v("reward", reward, "reinforcement learning: mean reward of the sampled answers");
    v("solved", solved, "share of answers with reward 1");
    v("signal", signal, "share of groups whose answers do not all earn the same");
    v("answer_tokens", answer_tokens, "mean length of an answer in tokens");
    v("finished", finished, "share of answers that ended before max_tokens");
    v("difficulty", difficulty, "mean difficulty of the problems");
    v("staleness", staleness, "optimizer steps between sampling and learning, mean over answers");
    v("evicted", evicted, "groups under way that were dropped because they had become too stale");
    v("masked", masked, "share of tokens that the policy loss masks or clips");
    v("kl", kl, "mean log-probability ratio of sampling and learning policy, nats per token");
    v("entropy", entropy, "mean negative log-probability of the sampled tokens, nats");
    v("max_ratio", max_ratio, "largest importance ratio of a token");
    v("repeated", repeated, "share of answers that repeat themselves and earned nothing");
    v("rare", rare, "share of tokens far below uniform probability with a rare id (gibberish)");
    v("margin", margin,
      "learning from preferences: mean reward of the chosen answers less that of the rejected ones");
    v("accuracy", accuracy, "share of pairs whose chosen answer has the larger reward");
    v("chosen_reward", chosen_reward, "mean reward of the chosen answers: beta times their log-probability ratio");
    v("rejected_reward", rejected_reward, "mean reward of the rejected answers");
    v("time_s", time_s, "seconds the step took");
    v("data_s", data_s, "of them: waiting for data");
    v("forward_s", forward_s, "the forward passes");
    v("backward_s", backward_s, "the backward passes");
    v("reduce_s", reduce_s, "exposed (non-overlapped) communication between ranks");
    v("optimizer_s", optimizer_s, "clipping and the optimizers");
    v("checkpoint_s", checkpoint_s, "stalled for a checkpoint");
    v("other_s", other_s, "the rest");
  }
};

struct EvalMetrics {
  int64_t step = 0, tokens = 0;
  std::string set;
  double eval_loss = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> eval_bpb, eval_margin = {}, eval_accuracy = {};
  template <class V>
  void visit(V& v) {
    v("step", step, "steps finished");
    v("tokens", tokens, "tokens seen");
    v("set", set, "what was evaluated on");
    v("eval_loss", eval_loss, "loss in nats per token");
    v("eval_bpb", eval_bpb, "loss in bits per byte of text");
    v("eval_margin", eval_margin, "of pairs of answers: mean reward margin");
    v("eval_accuracy", eval_accuracy, "of pairs of answers: share whose chosen answer has the larger reward");
  }
};

struct EventMetrics {
  int64_t step = 0, tokens = 0;
  std::string event, text;  // kind in one word; what happened in a sentence
  template <class V>
  void visit(V& v) {
    v("step", step, "steps finished");
    v("tokens", tokens, "tokens seen");
    v("event", event, "kind");
    v("text", text, "what happened");
  }
  bool operator==(const EventMetrics&) const = default;
};

class MetricsFile {
 public:
  static constexpr int64_t kNew = -1;  // `resumed_at` of a run that starts from nothing
  // Appends to RUN/metrics.jsonl, after mending what is there: discard_after(resumed_at), and lines that cannot be
  // read (the half-written last one of a killed run) move to metrics.discarded.jsonl too.
  MetricsFile(const std::filesystem::path& run, int64_t resumed_at);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  void write(const StepMetrics& m);
  void write(const EvalMetrics& m);
  void write(const EventMetrics& m);
  void discard_after(int64_t step);                 // training goes back to the state after `step`
  int64_t discarded() const { return discarded_; }  // lines moved since construction

 private:
  void append(const std::string& line);
  void open();
  std::filesystem::path path_, discarded_path_;
  int fd_ = -1;
  int64_t discarded_ = 0;
};

struct RunMetrics {
  std::vector<StepMetrics> steps;    // by step; of a step told twice the later line
  std::vector<EvalMetrics> evals;    // by step, then set; likewise
  std::vector<EventMetrics> events;  // as they happened, repeats dropped
};
// A half-written last line is passed over; any other line that is not one of the three kinds is an Error naming it.
RunMetrics read_metrics(const std::filesystem::path& file);

}  // namespace quern::train

// quern demo: the small model that comes with Quern solves problems it has never seen, then uses test-time compute on
// two hard ones. With --train, trains a model from scratch instead (demo_train.cc).
#include <unistd.h>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/run/demo_train.h"
#include "quern/base/threads.h"
#include "quern/gym/curriculum_problems.h"
#include "quern/reason/think.h"
#include "quern/text/chat/message.h"

namespace quern::cli {
namespace {

struct Stage {
  models::Model& model;
  const text::Tokenizer& tokenizer;
  const text::ChatTemplate& chat_template;
  infer::GenerateOptions options;
};

std::string indented(const std::string& text) {
  std::string out = "  ";
  for (char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

// One problem of each kind, greedily.
void work_out(const Stage& s, uint64_t seed) {
  infer::Engine engine(s.model, {.kv = DType::bf16, .tokenizer = &s.tokenizer});
  int64_t right = 0, asked_so_far = 0, tokens = 0;
  double seconds = 0;
  infer::GenerateOptions o = s.options;
  o.sampling.temperature = 0;
  for (std::string_view kind : gym::problem_kinds()) {
    const gym::Problem p = gym::curriculum_problem(
        {.split = data::Split::held_out, .seed = seed, .min_level = 2, .max_level = 3, .kinds = {std::string(kind)}},
        0);
    const reason::ThinkResult t = reason::think(engine, {.tokenizer = s.tokenizer,
                                                         .chat_template = s.chat_template,
                                                         .messages = text::user_message(p.question),
                                                         .options = o});
    const bool good = t.best() && gym::answers(t.best()->text, p);
    fmt::print("\n> {}\n{}\n  {}\n", p.question, indented(t.best() ? t.best()->text : std::string()),
               good ? "right" : fmt::format("wrong: the answer is {}", p.answer));
    std::fflush(stdout);
    right += good, ++asked_so_far, tokens += t.new_tokens;
    seconds += t.best() ? t.seconds : 0;
  }
  fmt::print("\n{} of {} right, {:.0f} tokens per second\n", right, asked_so_far,
             static_cast<double>(tokens) / seconds);
}

struct Longer {  // a problem that takes more than one attempt, and how it is gone about
  const char *kind, *plan, *saying;
  int level;
  double temperature;
};

constexpr Longer kLonger[] = {
    {"arithmetic", "vote:12",
     "A harder problem, with test-time compute: 12 sampled solutions, and the majority answer wins "
     "(self-consistency).",
     4, 0.7},
    {"routes", "mrsa:6x4x2,beta=160,tau=64",
     "A search problem: 6 solutions, then two rounds of 6 more, each after reading the ends of 4 earlier ones "
     "(Markovian RSA).",
     5, 1}};

void think_longer(const Stage& s, const Longer& how, uint64_t seed) {
  const gym::Problem p = gym::curriculum_problem({.split = data::Split::held_out,
                                                  .seed = seed,
                                                  .min_level = how.level,
                                                  .max_level = how.level,
                                                  .kinds = {how.kind}},
                                                 0);
  reason::ThinkPlan plan = reason::parse_plan(how.plan);
  plan.seed = seed;
  infer::GenerateOptions o = s.options;
  o.sampling.temperature = how.temperature;
  infer::Engine engine(s.model, {.kv = DType::bf16, .max_sequences = plan.n, .tokenizer = &s.tokenizer});
  fmt::print("\n{}\n\n> {}\n", how.saying, p.question);
  std::fflush(stdout);
  std::vector<std::vector<std::string>> said(static_cast<size_t>(plan.t + 1));  // answers, by rounds
  const reason::ThinkResult t = reason::think(engine,
                                              {.tokenizer = s.tokenizer,
                                               .chat_template = s.chat_template,
                                               .messages = text::user_message(p.question),
                                               .plan = plan,
                                               .options = o},
                                              [&](const reason::ThinkEvent& e) {
                                                said[static_cast<size_t>(e.candidate.round)].push_back(
                                                    e.candidate.answer.empty() ? "none" : e.candidate.answer);
                                              });
  for (size_t round = 0; round < said.size(); ++round)
    fmt::print("  {}: {}\n", plan.t == 0 ? "answers" : fmt::format("round {}", round + 1),
               fmt::join(said[round], ", "));
  const bool good = t.best() && gym::answers(t.best()->text, p);
  fmt::print("  {:.0f} % agree on {}, which is {}\n", 100 * t.agreement, t.best() ? t.best()->answer : "nothing",
             good ? "right" : fmt::format("wrong: the answer is {}", p.answer));
}

}  // namespace

int cmd_demo(Words args) {
  TrainedDemo training;
  bool train = false;
  std::string dir = kShippedModel;
  Args a("demo", "show what the shipped model can do, or train a tiny one");
  a.flag("--model DIR", dir, "chat model to show")
      .flag("--seed N", training.seed, "random seed of the problems; with --train, of the initial weights")
      .flag("--train", train, "train a tiny ZAYA model from scratch and print samples of its output")
      .flag("--seconds X", training.seconds, "with --train: training time in seconds")
      .flag("--size NAME", training.size, "with --train: model size, as in quern new --family zaya")
      .flag("--out DIR", training.out, "with --train: save the model in this folder");
  if (!a.parse(args)) return 0;
  if (train) return demo_by_training(training);
  const std::string folder = model_folder(dir);
  auto model = load_for_inference(folder, "auto");
  const text::Tokenizer tokenizer = models::load_tokenizer(folder);
  const text::ChatTemplate chat_template = models::load_chat_template(folder, model->family());
  infer::GenerateOptions o;
  o.stop_ids = models::load_generation_config(folder).eos_token_id;
  o.max_tokens = 256;
  fmt::print("{}: a {} model with {:.1f} M parameters, {} threads. Held-out problems:\n", dir, model->family(),
             static_cast<double>(nn::parameter_count(*model)) * 1e-6, thread_count());
  const Stage stage{*model, tokenizer, chat_template, o};
  work_out(stage, static_cast<uint64_t>(training.seed));
  for (const Longer& how : kLonger) think_longer(stage, how, static_cast<uint64_t>(training.seed));
  fmt::print(
      "\nChat: quern run {0}    Web UI: quern serve {0}, then http://127.0.0.1:8080    Train: quern demo --train\n",
      dir);
  return 0;
}

}  // namespace quern::cli

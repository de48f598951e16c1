// quern demo: the small model that comes with Quern works out problems it has never seen, then thinks longer about
// two hard ones. With --train, a model from nothing instead (demo_train.cc).
#include <unistd.h>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/run/demo_train.h"
#include "quern/base/threads.h"
#include "quern/data/problems.h"
#include "quern/reason/think.h"

namespace quern {
namespace {

constexpr const char* kModel = "zaya-nano";

struct Stage {
  Model& model;
  const Tokenizer& tokenizer;
  const ChatTemplate& chat_template;
  GenerateOptions options;
};

Json asked(const std::string& question) {
  Json m = Json::object(), list = Json::array();
  m.set("role", "user"), m.set("content", question);
  list.push(std::move(m));
  return list;
}

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
  Engine engine(s.model, {.kv = DType::bf16, .tokenizer = &s.tokenizer});
  int64_t right = 0, asked_so_far = 0, tokens = 0;
  double seconds = 0;
  GenerateOptions o = s.options;
  o.sampling.temperature = 0;
  for (std::string_view kind : problem_kinds()) {
    const Problem p = curriculum_problem(
        {.split = Split::held_out, .seed = seed, .min_level = 2, .max_level = 3, .kinds = {std::string(kind)}}, 0);
    const Thought t = think(engine, s.tokenizer, s.chat_template, asked(p.question), {}, o);
    const bool good = t.best() && answers(t.best()->text, p);
    fmt::print("\n> {}\n{}\n  {}\n", p.question, indented(t.best() ? t.best()->text : std::string()),
               good ? "right" : fmt::format("wrong: it is {}", p.answer));
    std::fflush(stdout);
    right += good, ++asked_so_far, tokens += t.new_tokens;
    seconds += t.best() ? t.seconds : 0;
  }
  fmt::print("\n{} of {} right, {:.0f} tokens a second\n", right, asked_so_far,
             static_cast<double>(tokens) / seconds);
}

struct Longer {  // a problem that takes more than one attempt, and how it is gone about
  const char *kind, *plan, *saying;
  int level;
  double temperature;
};

constexpr Longer kLonger[] = {
    {"arithmetic", "vote:12", "A harder one: twelve candidates think, and the majority of their answers decides.", 4,
     0.7},
    {"routes", "mrsa:6x4x2,beta=160,tau=64",
     "A search, where most find something and few the best: six try, then twice six more, each of which has read the "
     "ends of four attempts (Markovian RSA).",
     5, 1}};

void think_longer(const Stage& s, const Longer& how, uint64_t seed) {
  const Problem p = curriculum_problem(
      {.split = Split::held_out, .seed = seed, .min_level = how.level, .max_level = how.level, .kinds = {how.kind}},
      0);
  ThinkPlan plan = parse_plan(how.plan);
  plan.seed = seed;
  GenerateOptions o = s.options;
  o.sampling.temperature = how.temperature;
  Engine engine(s.model, {.kv = DType::bf16, .max_sessions = plan.n, .tokenizer = &s.tokenizer});
  fmt::print("\n{}\n\n> {}\n", how.saying, p.question);
  std::fflush(stdout);
  std::vector<std::vector<std::string>> said(static_cast<size_t>(plan.t + 1));  // answers, by rounds
  const Thought t = think(engine, s.tokenizer, s.chat_template, asked(p.question), plan, o, [&](const ThinkEvent& e) {
    said[static_cast<size_t>(e.candidate.round)].push_back(e.candidate.answer.empty() ? "none" : e.candidate.answer);
  });
  for (size_t round = 0; round < said.size(); ++round)
    fmt::print("  {}: {}\n", plan.t == 0 ? "answers" : fmt::format("round {}", round + 1),
               fmt::join(said[round], ", "));
  const bool good = t.best() && answers(t.best()->text, p);
  fmt::print("  {:.0f} % agree on {}, which is {}\n", 100 * t.agreement, t.best() ? t.best()->answer : "nothing",
             good ? "right" : fmt::format("wrong: it is {}", p.answer));
}

}  // namespace

int cmd_demo(Words args) {
  TrainedDemo training;
  bool train = false;
  std::string dir = kModel;
  Args a("demo", "the small model that comes with Quern at work, or one from nothing");
  a.flag("--model", dir, "another chat model's folder")
      .flag("--seed", training.seed, "other problems; with --train, other initial weights")
      .flag("--train", train, "train a tiny ZAYA model from nothing and let it speak")
      .flag("--seconds", training.seconds, "with --train: how long")
      .flag("--size", training.size, "with --train: shape, as in quern new --family zaya")
      .flag("--out", training.out, "with --train: keep the model in this folder");
  if (!a.parse(args)) return 0;
  if (train) return demo_by_training(training);
  const std::string folder = model_folder(dir);
  auto model = load_for_inference(folder, "auto");
  const Tokenizer tokenizer = load_tokenizer(folder);
  const ChatTemplate chat_template = load_chat_template(folder, model->family());
  GenerateOptions o;
  o.stop_ids = load_generation_config(folder).eos_token_id;
  o.max_tokens = 256;
  fmt::print("{}: a {} model of {:.1f} M weights on {} threads. Problems it was never trained on:\n", dir,
             model->family(), static_cast<double>(parameter_count(*model)) * 1e-6, thread_count());
  const Stage stage{*model, tokenizer, chat_template, o};
  work_out(stage, static_cast<uint64_t>(training.seed));
  for (const Longer& how : kLonger) think_longer(stage, how, static_cast<uint64_t>(training.seed));
  fmt::print(
      "\nTalk to it: quern run {0}    On a page: quern serve {0}, then http://127.0.0.1:8080    Train one: quern "
      "demo --train\n",
      dir);
  return 0;
}

}  // namespace quern

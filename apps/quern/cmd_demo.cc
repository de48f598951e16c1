// quern demo: the small model that comes with Quern works out problems it has never seen, then thinks longer about a
// hard one. With --train, a model from nothing instead (demo_train.cc).
#include <unistd.h>

#include "apps/quern/args.h"
#include "apps/quern/context.h"
#include "apps/quern/demo_train.h"
#include "apps/quern/shipped_models.h"
#include "apps/quern/verbs.h"
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

void think_longer(const Stage& s, uint64_t seed) {
  const Problem p = curriculum_problem(
      {.split = Split::held_out, .seed = seed, .min_level = 4, .max_level = 4, .kinds = {"arithmetic"}}, 0);
  ThinkPlan plan = parse_plan("vote:12");
  plan.seed = seed;
  GenerateOptions o = s.options;
  o.sampling.temperature = 0.7;
  Engine engine(s.model, {.kv = DType::bf16, .max_sessions = plan.n, .tokenizer = &s.tokenizer});
  fmt::print("\nA harder one: twelve candidates think, and the majority of their answers decides.\n\n> {}\n",
             p.question);
  const Thought t = think(engine, s.tokenizer, s.chat_template, asked(p.question), plan, o, [](const ThinkEvent& e) {
    fmt::print("  candidate {}: {}\n", e.candidate.index,
               e.candidate.answer.empty() ? "no answer" : e.candidate.answer);
    std::fflush(stdout);
  });
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
  think_longer(stage, static_cast<uint64_t>(training.seed));
  fmt::print(
      "\nTalk to it: quern run {0}    On a page: quern serve {0}, then http://127.0.0.1:8080    Train one: quern "
      "demo --train\n",
      dir);
  return 0;
}

}  // namespace quern

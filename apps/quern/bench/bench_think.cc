// quern bench think: overhead of test-time compute plans: problems solved with a plan, one after the other, and in
// turn with each the same prompts in plain batches, round by round, with as many sampled tokens.

#include "apps/quern/bench/bench_model.h"
#include "apps/quern/cli/args.h"
#include "apps/quern/models/context.h"
#include "quern/base/stopwatch.h"
#include "quern/gym/curriculum_problems.h"
#include "quern/host/bench.h"
#include "quern/reason/think.h"
#include "quern/text/chat/message.h"

namespace quern::cli {
namespace {

// Every prompt of the thought answered again. The token that ends a response is a step, too.
void plain_batches(infer::Engine& engine, const reason::ThinkResult& t, const reason::ThinkPlan& plan,
                   const infer::GenerateOptions& options) {
  for (int64_t round = 0; round <= plan.t; ++round) {
    std::vector<infer::Engine::Id> ids;
    for (int64_t i = 0; i < plan.n; ++i) {
      const reason::Candidate& c = t.candidates[static_cast<size_t>(round * plan.n + i)];
      infer::Request r{.prompt = c.prompt, .options = options};
      r.options.stop_ids = {};
      r.options.max_tokens = c.drawn + (c.finish == "stop" ? 1 : 0);
      r.options.sampling.seed = static_cast<uint64_t>(round * plan.n + i);
      if (r.options.max_tokens > 0) ids.push_back(engine.submit(std::move(r)));
    }
    while (engine.step()) {
    }
    for (infer::Engine::Id id : ids) engine.take(id);
  }
}

}  // namespace

int bench_think(ModelBenchOptions o, const std::string& method) {
  const bool json = o.json;
  if (o.dir.empty()) throw UsageError("quern bench test-time: DIR is missing: expected the folder of a chat model");
  infer::GenerateOptions options;
  options.max_tokens = 192;
  const reason::ThinkPlan plan = reason::resolved(reason::parse_plan(method), options.max_tokens);
  const DType kv = bench_kv(o);  // what is wrong with the words is said before anything is loaded
  const std::unique_ptr<models::Model> model = bench_subject(o);
  const text::Tokenizer tokenizer = models::load_tokenizer(o.dir);
  const text::ChatTemplate chat_template = models::load_chat_template(o.dir, model->family());
  options.stop_ids = models::load_generation_config(o.dir).eos_token_id;
  options.sampling.temperature = 1;
  std::vector<double> ratios;
  int64_t tokens = 0, longest = 0;
  double thinking = 0;
  for (int64_t i = 0; i <= o.reps; ++i) {  // the first warms up
    const gym::Problem p = gym::curriculum_problem({.split = data::Split::held_out, .seed = 1, .min_level = 4},
                                                   static_cast<uint64_t>(i));
    const Json messages = text::user_message(p.question);
    reason::ThinkResult t;
    double thought = 0, plain = 0;
    const auto think_about = [&] {
      infer::Engine engine(*model, {.kv = kv, .max_sequences = plan.n, .tokenizer = &tokenizer});
      thought += seconds_of([&] { t = reason::think(engine, {tokenizer, chat_template, messages, plan, options}); });
    };
    const auto answer_plainly = [&] {
      infer::Engine engine(*model, {.kv = kv, .max_sequences = plan.n, .tokenizer = &tokenizer});
      plain += seconds_of([&] { plain_batches(engine, t, plan, options); });
    };
    think_about(), answer_plainly(), answer_plainly(), think_about();
    if (i == 0) continue;
    ratios.push_back(thought / plain), thinking += thought / 2;
    tokens += t.new_tokens, longest = std::max(longest, t.longest_prompt);
  }
  const double overhead = host::median(ratios) - 1, speed = static_cast<double>(tokens) / thinking;
  if (json) {
    Json j = Json::object();
    j.set("plan", plan.name()), j.set("problems", o.reps), j.set("tokens", tokens), j.set("overhead", overhead);
    j.set("longest_prompt", longest), j.set("tokens_per_s", speed);
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print(
      "{}, {} problems, {} tokens: {:.0f} tokens/s, {:+.1f} % time compared with the same prompts in plain batches; "
      "longest prompt {} tokens\n",
      plan.name(), o.reps, tokens, speed, 100 * overhead, longest);
  return 0;
}

}  // namespace quern::cli

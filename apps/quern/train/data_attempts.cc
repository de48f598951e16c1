// quern data attempts: a model attempts training problems; what it said becomes examples of weighing attempts.
#include <optional>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "apps/quern/train/cmd_data.h"
#include "quern/reason/own_attempts.h"

namespace quern {

int data_attempts(Words args) {
  std::string dir, out, contested_out, level = "2-5", method = "vote:8,tau=64";
  OwnAttemptOptions o;
  o.eval.problems.split = Split::train;
  o.eval.count = 1000;
  WeightFlags weights{.dtype_default = "auto"};
  int64_t tokens = 192, seed = 0;
  double temp = 1;
  Args a("data attempts", "a model's own attempts at training problems, to be weighed against each other");
  a.positional("DIR", dir)
      .flag("--out", out, "file of chats to write; - is stdout")
      .flag("--level", level, "1 (easy) to 5, or a range like 2-4")
      .flag("--kind", o.eval.problems.kinds, "only this kind; may be given again and again")
      .flag("--count", o.eval.count, "problems of each level")
      .flag("--think", method, "how problems are attempted; the last round's ends are shown (vote:N, mrsa:NxCxT …)")
      .flag("--shown", o.shown, "attempts of one example")
      .flag("--unanimous", o.unanimous, "chance that an example whose attempts are all right is kept")
      .flag("--hopeless", o.hopeless, "chance that one whose attempts are all wrong is kept")
      .flag("--contested", contested_out,
            "file for further examples in which a right attempt is not what most say, so that only judging helps")
      .flag("--contests", o.contested, "most of those a problem; by itself 2 with --contested")
      .flag("--cut-short", o.cut_short,
            "chance that a search to be learnt stops short of a solution that no attempt shows")
      .flag("--verdicts", o.verdicts, "the working to be learnt begins with what each attempt is, right or wrong")
      .flag("-n,--tokens", tokens, "most tokens of an attempt")
      .flag("--temp", temp, "temperature")
      .flag("--seed", seed, "of problems and sampling")
      .flag("--sessions", o.eval.sessions, "sequences in work at once");
  weights.add_to(a, "f32, bf16, or auto (bf16)");
  if (!a.parse(args)) return 0;
  if (out.empty()) throw UsageError("quern data attempts: --out is missing");
  if (o.eval.sessions < 1) throw UsageError("quern data attempts: --sessions takes 1 or more");
  if (contested_out.empty() && o.contested > 0)
    throw UsageError("quern data attempts: --contests without --contested, the file they go to");
  if (contested_out == "-") throw UsageError("quern data attempts: --contested takes a file; stdout is --out's");
  if (!contested_out.empty() && contested_out == out)
    throw UsageError("quern data attempts: --contested and --out are one file");
  if (!contested_out.empty() && o.contested == 0) o.contested = 2;
  read_levels(level, o.eval.problems);
  o.eval.problems.seed = static_cast<uint64_t>(seed);
  o.eval.plan = parse_plan(method);
  o.eval.plan.seed = o.eval.generate.sampling.seed = static_cast<uint64_t>(seed);
  o.eval.generate.sampling.temperature = temp;
  o.eval.generate.max_tokens = tokens;
  check(o);

  dir = model_folder(dir);
  const Tokenizer tokenizer = load_tokenizer(dir);
  auto model = load_for_inference(dir, weights.load_options());
  o.eval.generate.stop_ids = load_generation_config(dir).eos_token_id;
  LineFile file(out);
  std::optional<LineFile> contested;
  if (!contested_out.empty()) contested.emplace(contested_out);
  OwnAttemptReport r;
  {
    Progress progress;
    const int64_t all = o.eval.count * (o.eval.problems.max_level - o.eval.problems.min_level + 1);
    r = own_attempts(*model, tokenizer, load_chat_template(dir, model->family()), o,
                     [&](const OwnExample& e, const OwnAttemptReport& now) {
                       (e.contested ? *contested : file).write(e.line);
                       progress("{} of {} problems, {} examples", now.problems, all, now.examples + now.contested);
                     });
  }
  file.commit();
  if (contested) contested->commit();
  if (!file.is_stdout())
    fmt::print(
        "{}: {} examples of {} problems; {:.1f} % of {} attempts right; groups all right {}, mixed {}, none {}\n",
        out, r.examples, r.problems, 100.0 * static_cast<double>(r.right) / static_cast<double>(r.attempts),
        r.attempts, r.all_right, r.mixed, r.none_right);
  if (contested && !file.is_stdout()) fmt::print("{}: {} contested examples\n", contested_out, r.contested);
  return 0;
}

}  // namespace quern

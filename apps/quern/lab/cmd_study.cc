// quern study: ablation studies: variants of a recipe trained on the same tokens and compared (lab/ablation/study.h).
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "lab/ablation/study.h"

namespace quern::cli {

int cmd_study(Words args) {
  std::string file, work;
  bool json = false;
  Args a("study", "ablation: train variants of a recipe on the same tokens and compare them");
  a.positional("STUDY", file)
      .flag("--work DIR", work, "folder of data and runs; finished runs in it are reused [runs/study-NAME]")
      .json(json)
      .note("STUDY is a TOML file: a base recipe and its variants.");
  if (!a.parse(args)) return 0;
  const lab::Study study = lab::read_study(file);
  const std::filesystem::path folder =
      work.empty() ? std::filesystem::path("runs") / ("study-" + study.name) : std::filesystem::path(work);
  const Json j = lab::run_study(study, nn::builtin_registry(), folder,
                                [](const std::string& s) { fmt::print(stderr, "{}\n", s); });
  if (json) {
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("{:<24} {:>12} {:>10}  experts balanced from step\n", "variant", "parameters", "loss");
  for (const lab::StudyVariant& v : study.variant) {
    const Json* even = j.at("even_at", "study").find(v.name);
    fmt::print("{:<24} {:>12} {:>10.4f}  {}\n", v.name,
               j.at("parameters", "study").at(v.name, "study").as_int("study"),
               j.at("loss", "study").at(v.name, "study").as_double("study"),
               even ? fmt::format("{:.0f}", even->as_double("study")) : "—");
  }
  fmt::print("spread between the seeds of a variant: {:.4f}\n", j.at("spread", "study").as_double("study"));
  return 0;
}

}  // namespace quern::cli

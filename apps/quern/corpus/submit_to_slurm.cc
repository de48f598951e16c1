// A plan as job arrays: a script per stage, whose tasks are told apart by SLURM_ARRAY_TASK_ID.
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "apps/quern/cli/shell_word.h"
#include "apps/quern/corpus/task_runners.h"
#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/tasks/task_run.h"

namespace quern::cli {
namespace {

using namespace corpus;
namespace fs = std::filesystem;

constexpr uint64_t kArray = 1000;  // Slurm's own limit of an array is 1001 tasks where nobody raised it

// A script that runs tasks first … of a stage; each has its array's number behind `first`. A task that is killed is started
// again, up to three times, and one that is told to end is not: Slurm tells it when the job is cancelled.
std::string script_of(const std::string& stage, uint64_t first, const fs::path& plan, const fs::path& folder) {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  return fmt::format(
      "#!/bin/sh\n#SBATCH --job-name=quern-{0}\n#SBATCH --requeue\n#SBATCH --output={1}/{0}-%A-%a.log\n"
      "for start in 1 2 3 4; do\n  status=0\n"
      "  {2} ${{SLURM_CPUS_PER_TASK:+--threads \"$SLURM_CPUS_PER_TASK\"}} corpus task {3} {0}-$(({4} + "
      "SLURM_ARRAY_TASK_ID)) || status=$?\n"
      "  [ $status -gt 128 ] && [ $status -ne 143 ] || break\n"
      "  echo \"killed by signal $((status - 128))\" >&2\ndone\nexit $status\n",
      stage, folder.string(), shell_word(program), shell_word(plan.string()), first);
}

// The number that sbatch --parsable prints: NUMBER or NUMBER;CLUSTER.
std::string submit(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) fail("cannot run sbatch");
  std::string said, number;
  for (int c = 0; (c = std::fgetc(pipe.get())) != EOF;) said += static_cast<char>(c);
  for (char c : said) {
    if (!std::isdigit(static_cast<unsigned char>(c))) break;
    number += c;
  }
  if (number.empty())
    fail("`{}` gave no job number{}", command,
         said.empty() ? "; its own message stands above" : fmt::format(", but: {}", said));
  return number;
}

}  // namespace

int submit_to_slurm(const TaskPlan& plan, const fs::path& file, const std::vector<std::string>& extra) {
  if (std::system("command -v sbatch > /dev/null 2>&1") != 0)
    fail(
        "sbatch is not on the PATH: --runner slurm submits to a Slurm cluster from one of its machines; --runner "
        "local "
        "runs the tasks here");
  const fs::path plan_file = fs::absolute(file);
  const fs::path folder = plan_file.string() + ".slurm";
  fs::create_directories(folder);
  std::string words, before;
  for (const std::string& w : extra) words += " " + shell_word(w);
  for (const PlannedStage& s : plan.stages) {  // each waits for the one before it
    std::string jobs;
    for (uint64_t first = 0; first < s.tasks; first += kArray) {
      const uint64_t last = std::min(s.tasks - first, kArray) - 1;
      const fs::path script = folder / fmt::format("{}-{}.sh", s.name, first);
      write_file(script, script_of(s.name, first, plan_file, folder));
      const std::string wait =
          before.empty() ? "" : fmt::format(" --dependency=afterok{} --kill-on-invalid-dep=yes", before);
      jobs += ":" + submit(fmt::format("sbatch --parsable --array=0-{}{}{} {}", last, wait, words,
                                       shell_word(script.string())));
    }
    before = jobs;
    fmt::print("{:<8} {} tasks, job {}\n", s.name, s.tasks, jobs.substr(1));
  }
  fmt::print("scripts and logs are in {}\n", folder.string());
  return 0;
}

}  // namespace quern::cli

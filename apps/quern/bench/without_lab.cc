// What a build without the lab (QUERN_LAB=OFF) reports for the research verbs.
#include "apps/quern/bench/bench_tree.h"
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/error.h"

namespace quern::cli {
namespace {

[[noreturn]] void no_lab(const char* verb) {
  fail("quern {}: this build has no research studies; build them in with './run build dev', or cmake -DQUERN_LAB=ON",
       verb);
}

// `--help`, which shell completion asks of every verb, is answered all the same.
int absent(const char* verb, Words args) {
  if (args.empty() || (args[0] != "--help" && args[0] != "-h")) no_lab(verb);
  Args(verb, "a research study; this build leaves it out").parse(args.first(1));
  return 0;
}

}  // namespace

bool has_lab() { return false; }
int cmd_learn(Words args) { return absent("research", args); }
int cmd_study(Words args) { return absent("study", args); }
int bench_tree(const TreeBenchOptions&) { no_lab("bench tree-attention"); }

}  // namespace quern::cli

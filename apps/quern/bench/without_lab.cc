// What a build without the lab (QUERN_LAB=OFF) says of the research verbs.
#include "apps/quern/bench/bench_tree.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/error.h"

namespace quern {
namespace {

[[noreturn]] void no_lab(const char* verb) {
  fail(
      "quern {}: this build has no research studies; './run build dev', or cmake with -DQUERN_LAB=ON, builds them in",
      verb);
}

}  // namespace

int cmd_learn(Words) { no_lab("learn"); }
int cmd_study(Words) { no_lab("study"); }
int bench_tree(const TreeBenchOptions&, bool) { no_lab("bench tree"); }

}  // namespace quern

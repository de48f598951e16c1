// quern reshape: reshards a training checkpoint for another number of ranks, or converts it to another architecture.
#include <unistd.h>

#include <chrono>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "quern/base/json.h"
#include "quern/nn/builtin_registry.h"
#include "quern/train/reshape/reshape.h"

namespace quern::cli {

int cmd_reshape(Words args) {
  std::string from, to, rewrite;
  std::optional<int64_t> ranks;
  bool verify = false, json = false;
  Args a("reshape", "convert or reshard a training checkpoint");
  a.positional("SRC", from)
      .positional("DST", to)
      .flag("--ranks N", ranks, "number of ranks that the new checkpoint is sharded over")
      .flag("--rewrite FILE", rewrite, "TOML file of rewrite operations, which change the architecture")
      .flag("--verify", verify, "read the new checkpoint back and verify every checksum")
      .json(json)
      .note(
          "SRC is a folder step_N, or a folder of them, whose newest committed one is used. DST gets a folder "
          "step_N.\n"
          "quern train reads checkpoints of any number of ranks, so resharding is not needed to resume.");
  if (!a.parse(args)) return 0;
  if (!ranks) throw UsageError("quern reshape: --ranks is missing: expected a number of ranks, 1 or more");
  if (*ranks < 1) throw UsageError(fmt::format("quern reshape: --ranks {}: expected 1 or more", *ranks));
  train::ReshapeOptions o{.ranks = *ranks, .rewrite = rewrite};
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  auto last = std::chrono::steady_clock::now();
  o.progress = [&](int64_t done, int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last < (terminal ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000))) return;
    last = now;
    fmt::print(stderr, "{}{} of {} MB{}", terminal ? "\r" : "", done / 1000000, total / 1000000,
               terminal ? "" : "\n");
  };
  const train::ReshapeReport r = train::reshape(nn::builtin_registry(), from, to, o);
  if (terminal) fmt::print(stderr, "\r{:40}\r", "");
  if (verify) train::CheckpointReader(r.to).verify();
  if (!json) {
    fmt::print("{} → {}: step {}, {} tensors ({} MB) → {} ({} MB), {} rank{}\n", r.from.string(), r.to.string(),
               r.step, r.tensors_in, r.bytes_in / 1000000, r.tensors_out, r.bytes_out / 1000000, *ranks,
               *ranks == 1 ? "" : "s");
    return 0;
  }
  Json j = Json::object();
  j.set("from", r.from.string()), j.set("to", r.to.string()), j.set("step", r.step), j.set("ranks", *ranks);
  j.set("tensors_in", r.tensors_in), j.set("tensors_out", r.tensors_out);
  j.set("bytes_in", r.bytes_in), j.set("bytes_out", r.bytes_out);
  fmt::print("{}\n", j.dump(2));
  return 0;
}

}  // namespace quern::cli

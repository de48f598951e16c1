// quern new: a random model of a family at a named size, with every file a Hugging Face folder has.
#include "apps/quern/args.h"
#include "apps/quern/context.h"
#include "apps/quern/new_tokenizer.h"
#include "apps/quern/shapes.h"
#include "apps/quern/verbs.h"

namespace quern {

int cmd_new(Words args) {
  std::string dir, family, size = "tiny", dtype = "bf16";
  int64_t seed = 0, vocab = 512;
  std::string sizes;
  for (const std::string& f : shape_families())
    sizes += fmt::format("{}{}: {}", sizes.empty() ? "" : "; ", f, fmt::join(shape_sizes(f), ", "));
  Args a("new", "make a random model folder with every file it needs");
  a.positional("DIR", dir)
      .flag("--family", family, fmt::format("{}", fmt::join(shape_families(), ", ")))
      .flag("--size", size, sizes)
      .flag("--vocab", vocab, "entries of the tokenizer (at least 280)")
      .flag("--seed", seed, "of the weights")
      .flag("--dtype", dtype, "bf16 or f32, as stored");
  if (!a.parse(args)) return 0;
  if (family.empty())
    throw UsageError(fmt::format("quern new: --family is missing ({})", fmt::join(shape_families(), ", ")));
  if (vocab < 280 || vocab > 262144) throw UsageError(fmt::format("--vocab {}: expected 280 … 262144", vocab));
  std::filesystem::path folder(dir);
  if (std::filesystem::exists(folder / "config.json")) fail("{} already holds a model; name another folder", dir);
  DType stored = parse_compute_dtype(dtype);
  Json config =
      shape_config(family, size, vocab);  // before anything is written: a wrong size leaves no folder behind
  std::filesystem::create_directories(folder);
  Tokenizer tokenizer = make_tokenizer(folder, vocab);

  auto model = build_model(registry(), config);
  initialise(*model, static_cast<uint64_t>(seed));
  save_model(*model, folder, stored);
  GenerationConfig g;
  g.eos_token_id = {tokenizer.token_to_id(kEnd)};
  g.bos_token_id = tokenizer.token_to_id(kBegin);
  g.pad_token_id = tokenizer.token_to_id(kPad);
  save_generation_config(g, folder);
  fmt::print("{}: {} with {} random parameters\n", dir, family, parameter_count(*model));
  return 0;
}

}  // namespace quern

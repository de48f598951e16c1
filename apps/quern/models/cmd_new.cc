// quern new: a random model of a family at a named size, with every file a Hugging Face folder has. With --scheme it
// is packed at once, matrix after matrix: a model that would not fit into memory in bf16 can be made and tried.
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/new_tokenizer.h"
#include "apps/quern/models/random_model.h"
#include "apps/quern/models/shapes.h"
#include "quern/models/quantise.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

void write_companions(const fs::path& folder, int64_t vocab) {
  Tokenizer tokenizer = make_tokenizer(folder, vocab);
  GenerationConfig g;
  g.eos_token_id = {tokenizer.token_to_id(kEnd)};
  g.bos_token_id = tokenizer.token_to_id(kBegin);
  g.pad_token_id = tokenizer.token_to_id(kPad);
  save_generation_config(g, folder);
}

void write_packed(const fs::path& folder, const Json& config, const QuantiseOptions& o, int64_t vocab) {
  check_packed_target(folder, o);
  PackedRecorder recorder({}, {});
  auto model = random_model(config, Packing(o.body, o.head, &recorder));
  NamedTensors plain;
  model->visit("", [&](const std::string& name, Parameter& p) {
    if (p.value.defined()) plain.emplace_back(name, p.value);
  });
  save_packed(*model, recorder, plain, folder, o, [&](const fs::path& draft) { write_companions(draft, vocab); });
}

}  // namespace

int cmd_new(Words args) {
  std::string dir, family, size = "tiny", dtype = "bf16";
  std::optional<std::string> scheme;
  std::optional<int64_t> rows;
  int64_t seed = 0, vocab = 512;
  std::string sizes;
  for (const std::string& f : shape_families())
    sizes += fmt::format("{}{}: {}", sizes.empty() ? "" : "; ", f, fmt::join(shape_sizes(f), ", "));
  Args a("new", "make a random model folder with every file it needs");
  a.positional("DIR", dir)
      .flag("--family", family, fmt::format("{}", fmt::join(shape_families(), ", ")))
      .flag("--size", size, sizes)
      .flag("--vocab", vocab, "entries of the tokenizer (at least 280)")
      .flag("--rows", rows, "of embedding and head, the tokenizer's entries and padding (--vocab)")
      .flag("--seed", seed, "of the weights")
      .flag("--dtype", dtype, "bf16 or f32, as stored")
      .flag("--scheme", scheme, "packed as q8, q4 or q8a8 instead; every matrix is a piece of one pool of numbers");
  if (!a.parse(args)) return 0;
  if (family.empty())
    throw UsageError(fmt::format("quern new: --family is missing ({})", fmt::join(shape_families(), ", ")));
  if (vocab < 280 || vocab > 262144) throw UsageError(fmt::format("--vocab {}: expected 280 … 262144", vocab));
  if (rows && (*rows < vocab || *rows > 1 << 20))
    throw UsageError(fmt::format("--rows {}: expected --vocab ({}) … 1048576", *rows, vocab));
  if (scheme && (seed != 0 || dtype != "bf16"))
    throw UsageError("--scheme: a packed model takes its numbers from one pool, without --seed or --dtype");
  const fs::path folder(dir);
  if (fs::exists(folder / "config.json")) fail("{} already holds a model; name another folder", dir);
  DType stored = parse_compute_dtype(dtype);
  Json config =
      shape_config(family, size, rows.value_or(vocab));  // before anything is written: a wrong size leaves no folder
  if (scheme) {
    const WeightFlags flags{.dtype_default = "bf16", .scheme = scheme};
    const QuantiseOptions o{.body = *flags.load_options().scheme};
    write_packed(folder, config, o, vocab);
    fmt::print("{}: {} with random weights, {}\n", dir, family, to_string(o.body));
    return 0;
  }
  fs::create_directories(folder);
  write_companions(folder, vocab);
  auto model = build_model(everything(), config);
  initialise(*model, static_cast<uint64_t>(seed));
  save_model(*model, folder, stored);
  fmt::print("{}: {} with {} random parameters\n", dir, family, parameter_count(*model));
  return 0;
}

}  // namespace quern

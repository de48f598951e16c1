// quern new: a random model of a family at a named size, with every file a Hugging Face folder has. With --quant it
// is quantized at once, matrix after matrix: a model that would not fit into memory in bf16 can be made and tried.
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/shared_flags.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/mixed_flags.h"
#include "apps/quern/models/new_tokenizer.h"
#include "apps/quern/models/random_model.h"
#include "apps/quern/models/shapes.h"
#include "quern/models/quantize.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

void write_companions(const fs::path& folder, int64_t vocab) {
  text::Tokenizer tokenizer = make_tokenizer(folder, vocab);
  models::GenerationConfig g;
  g.eos_token_id = {tokenizer.token_to_id(kEnd)};
  g.bos_token_id = tokenizer.token_to_id(kBegin);
  g.pad_token_id = tokenizer.token_to_id(kPad);
  models::save_generation_config(g, folder);
}

// In mixed precision: of every matrix, in the default order, as random weights have no sensitivity worth measuring.
std::vector<kernels::QuantFormat> mixed_formats(const Json& config, const models::QuantizeOptions& o) {
  if (!o.mixed.on()) return {};
  auto model = models::build_model(nn::builtin_registry(), config);
  models::QuantizedShape shape = models::quantized_shape(*model, o.body, o.head);
  int64_t plain = 0;
  for (const auto& [name, of] : shape.plain) plain += element_count(of) * 4;
  std::vector<models::MatrixGroup> groups = models::matrix_groups(shape, o.body);
  models::raise_groups(shape, groups, models::matrix_budget(o.mixed, shape, plain));
  return models::formats_of(shape);
}

void write_packed(const fs::path& folder, const Json& config, const models::QuantizeOptions& o, int64_t vocab) {
  models::check_quantized_target(folder, o);
  models::QuantizationRecorder recorder({}, {}, mixed_formats(config, o));
  auto model = random_model(config, nn::WeightPrepacking(o.body, o.head, &recorder));
  NamedTensors plain;
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    if (p.value.defined()) plain.emplace_back(name, p.value);
  });
  models::save_quantized(*model, recorder, plain, folder, o,
                         [&](const fs::path& draft) { write_companions(draft, vocab); });
}

}  // namespace

int cmd_new(Words args) {
  std::string dir, family, size = "tiny";
  StoredType type;
  MixedFlags mixed;
  std::optional<std::string> scheme;
  std::optional<int64_t> rows;
  int64_t seed = 0;
  VocabFlag vocab_flag{.size = 512};
  const int64_t& vocab = vocab_flag.size;
  std::string sizes;
  for (const std::string& f : shape_families())
    sizes += fmt::format("{}{}: {}", sizes.empty() ? "" : "; ", f, fmt::join(shape_sizes(f), ", "));
  Args a("new", "create a model folder with random weights");
  a.positional("DIR", dir)
      .flag("--family NAME", family, fmt::format("model family: {}", fmt::join(shape_families(), ", ")))
      .flag("--size NAME", size, "model size; " + sizes)
      .settings(vocab_flag)
      .flag("--padded-vocab N", rows, "padded vocabulary size: rows of the embedding and LM head [--vocab]")
      .alias("--rows")
      .flag("--seed N", seed, "random seed of the weights")
      .settings(type)
      .flag("--quant FORMAT", scheme,
            "instead of --dtype: write quantized weights: q8, q4 or q8a8; matrices share one pool of random numbers")
      .alias("--scheme");
  mixed.add_to(a);
  if (!a.parse(args)) return 0;
  if (family.empty())
    throw UsageError(fmt::format("quern new: --family is missing: expected {}", fmt::join(shape_families(), ", ")));
  if (vocab < 280 || vocab > 262144) throw UsageError(fmt::format("--vocab {}: expected 280 to 262144", vocab));
  if (rows && (*rows < vocab || *rows > 1 << 20))
    throw UsageError(fmt::format("--padded-vocab {}: expected --vocab ({}) to 1048576", *rows, vocab));
  if (scheme && (seed != 0 || type.dtype != "bf16"))
    throw UsageError(
        "--quant cannot be used with --seed or --dtype: a quantized model takes its weights from one fixed pool");
  if (mixed.given() && !scheme) throw UsageError("--max-file-mib and --max-bits need --quant q4");
  const fs::path folder(dir);
  if (fs::exists(folder / "config.json")) fail("{} already holds a model; name another folder", dir);
  DType stored = parse_compute_dtype(type.dtype);
  Json config =
      shape_config(family, size, rows.value_or(vocab));  // before anything is written: a wrong size leaves no folder
  if (scheme) {
    const WeightFlags flags{.dtype_default = "bf16", .scheme = scheme};
    models::QuantizeOptions o{.body = *flags.load_options().scheme};
    mixed.apply(o);
    write_packed(folder, config, o, vocab);
    fmt::print("{}: {} with random weights, {}\n", dir, family, kernels::to_string(o.body));
    return 0;
  }
  fs::create_directories(folder);
  write_companions(folder, vocab);
  auto model = models::build_model(nn::builtin_registry(), config);
  nn::initialize(*model, static_cast<uint64_t>(seed));
  models::save_model(*model, folder, stored);
  fmt::print("{}: {} with {} random parameters\n", dir, family, nn::parameter_count(*model));
  return 0;
}

}  // namespace quern::cli

// quern info: family, sizes, parameters (all, and active per token), memory of the state, and weight types, of a
// folder or of a named shape without weights.
#include <algorithm>
#include <map>
#include <optional>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shapes.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/encoders/encoder.h"
#include "quern/mixers/state_totals.h"
#include "quern/models/active_share.h"
#include "quern/models/context_length.h"
#include "quern/models/mixed_precision.h"
#include "quern/models/quantized_file.h"

namespace quern::cli {
namespace {

std::string human(int64_t n) {
  const char* units[] = {"", " K", " M", " G", " T"};
  double v = static_cast<double>(n);
  int u = 0;
  while (v >= 1000 && u < 4) v /= 1000, ++u;
  return u == 0 ? fmt::format("{}", n) : fmt::format("{:.2f}{}", v, units[u]);
}

struct Counts {
  int64_t all = 0, embedding = 0,
          active_blocks = 0;  // active: one expert's share of stacked experts, embeddings apart
};

Counts count(models::Model& m) {
  Counts c;
  const models::ActiveShare active(m);
  m.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (!p.trainable) return;
    int64_t n = element_count(p.shape);
    c.all += n;
    if (name.find("embed_tokens") != name.npos || name.find("embeddings.weight") != name.npos ||
        name.find("lm_head") != name.npos)
      c.embedding += n;
    else
      c.active_blocks += static_cast<int64_t>(static_cast<double>(n) * active.of(p));
  });
  return c;
}

// "zaya-8b": family and size as in quern new; at the published size also the published vocabulary.
Json config_of_shape(const std::string& shape) {
  size_t dash = shape.find('-');
  if (dash == shape.npos)
    throw UsageError(fmt::format("--shape '{}': expected FAMILY-SIZE, for example zaya-8b", shape));
  const std::string family = shape.substr(0, dash), size = shape.substr(dash + 1);
  return shape_config(family, size, shape_vocab(family, size));
}

void add_checkpoint(Json& j, const TensorFolder& weights) {
  std::map<std::string, int64_t> by_type;
  for (const std::string& n : weights.names())
    by_type[std::string(weights.entry(n).type)] += element_count(weights.entry(n).shape);
  Json types = Json::object();
  for (auto& [t, n] : by_type) types.set(t, n);
  j.set("checkpoint_tensors", static_cast<int64_t>(weights.names().size()));
  j.set("checkpoint_bytes", weights.bytes());
  j.set("elements_by_type", types);
}

Json describe(models::Model& model, const TensorFolder* weights) {
  Counts c = count(model);
  const mixers::StateTotals state = mixers::state_totals(model.sites(DType::bf16)),
                            q8 = mixers::state_totals(model.sites(DType::i8));
  Json j = Json::object();
  j.set("family", model.family());
  j.set("parameters", c.all);
  j.set("parameters_without_embedding", c.all - c.embedding);
  j.set("active_parameters_in_blocks", c.active_blocks);
  j.set("vocab_size", model.vocab_size());
  j.set("max_positions", models::context_length(model));
  j.set("state_bytes_per_token", state.row_bytes);
  j.set("state_bytes_per_token_q8", q8.row_bytes);
  j.set("state_bytes_fixed", state.fixed_bytes);
  if (weights) add_checkpoint(j, *weights);
  return j;
}

// Of an encoder: sizes, and the head where the folder has one.
Json describe_encoder(const Json& config, const TensorFolder& weights) {
  int64_t all = 0, embedding = 0;
  for (const std::string& name : weights.names()) {
    const int64_t n = element_count(weights.entry(name).shape);
    all += n;
    if (name.find("embeddings") != name.npos) embedding += n;
  }
  const bool head =
      std::ranges::any_of(weights.names(), [](const std::string& n) { return n.starts_with("classifier"); });
  Json j = Json::object();
  j.set("family", config.at("model_type")), j.set("kind", "encoder");
  j.set("parameters", all), j.set("parameters_without_embedding", all - embedding);
  j.set("vocab_size", encoders::positive(config, "vocab_size"));
  j.set("max_positions", encoders::positive(config, "max_position_embeddings"));
  j.set("width", encoders::positive(config, "hidden_size"));
  j.set("layers", encoders::positive(config, "num_hidden_layers"));
  j.set("labels", head ? encoders::label_count(config) : 0);
  add_checkpoint(j, weights);
  return j;
}

void add_formats(Json& j, const models::QuantizedReader& packed) {
  j.set("scheme", kernels::to_string(packed.body())), j.set("head_scheme", kernels::to_string(packed.head()));
  Json counts = Json::object();
  for (const auto& [format, n] : packed.matrices_by_format()) counts.set(format, n);
  j.set("matrices_by_format", counts);
}

// What the weights would take, with a q8 head and f32 for what is not quantized.
void add_quantized_bytes(Json& j, const Json& config) {
  Json sizes = Json::object();
  for (const auto format : {kernels::WeightFormat::q8, kernels::WeightFormat::q4}) {
    const auto model = models::build_model(nn::builtin_registry(), config);
    const models::QuantizedShape shape = models::quantized_shape(*model, {format}, {kernels::WeightFormat::q8});
    int64_t bytes = shape.bytes() + models::header_bytes(shape);
    for (const auto& [name, of] : shape.plain) bytes += element_count(of) * 4;
    sizes.set(std::string(kernels::format_name(format)), bytes);
  }
  j.set("quantized_bytes", sizes);
}

void print_checkpoint(const Json& j) {
  fmt::print("checkpoint   {} tensors, {}B:", j.at("checkpoint_tensors").as_int(),
             human(j.at("checkpoint_bytes").as_int()));
  for (auto& [t, count] : j.at("elements_by_type").as_object()) fmt::print(" {} {}", human(count.as_int()), t);
  fmt::print("\n");
}

void print_encoder(const Json& j) {
  auto n = [&](const char* key) { return j.at(key).as_int(); };
  fmt::print("family       {} (encoder)\nparameters   {} ({}), {} without the embedding\n",
             j.at("family").as_string(), human(n("parameters")), n("parameters"),
             human(n("parameters_without_embedding")));
  fmt::print("layers       {} of width {}\nvocabulary   {}\ntext         {} tokens at most\n", n("layers"),
             n("width"), n("vocab_size"), n("max_positions"));
  fmt::print("head         {}\n",
             n("labels") == 0 ? "none: embeddings (quern embed, serve, recall)"
             : n("labels") == 1
                 ? "one score: a reranker (quern embed --scores, serve)"
                 : fmt::format("{} labels: a classifier (quern embed --scores, corpus score)", n("labels")));
  print_checkpoint(j);
}

void print(const Json& j) {
  auto n = [&](const char* key) { return j.at(key).as_int(); };
  fmt::print("family       {}\nparameters   {} ({}), {} without the embedding, {} of those active per token\n",
             j.at("family").as_string(), human(n("parameters")), n("parameters"),
             human(n("parameters_without_embedding")), human(n("active_parameters_in_blocks")));
  fmt::print("vocabulary   {}\ncontext      {} tokens\n", n("vocab_size"), n("max_positions"));
  if (j.find("checkpoint_tensors")) print_checkpoint(j);
  if (j.find("scheme")) {
    fmt::print("quantized    {}; head {};", j.at("scheme").as_string(), j.at("head_scheme").as_string());
    for (auto& [format, count] : j.at("matrices_by_format").as_object())
      fmt::print(" {} matrices in {}", count.as_int(), format);
    fmt::print("\n");
  } else {
    const Json& q = j.at("quantized_bytes");
    fmt::print("quantized    {}B as q8, {}B as q4\n", human(q.at("q8").as_int()), human(q.at("q4").as_int()));
  }
  fmt::print("KV cache     {} bytes per token (bf16; --kv q8: {})\nstate        {} bytes per sequence\n",
             n("state_bytes_per_token"), n("state_bytes_per_token_q8"), n("state_bytes_fixed"));
}

}  // namespace

int cmd_info(Words args) {
  std::string dir, shape;
  bool json = false, tensors = false;
  Args a("info", "describe a model: family, parameters, KV cache per token");
  a.optional_positional("DIR", dir)
      .flag("--shape SHAPE", shape, "instead of DIR: a named shape, for example zaya-8b")
      .flag("--tensors", tensors, "list every parameter")
      .json(json)
      .note("DIR is a model folder, an encoder's folder or a .gguf file.");
  if (!a.parse(args)) return 0;
  if (dir.empty() == shape.empty()) throw UsageError("quern info: expected either DIR or --shape");

  std::optional<models::Checkpoint> files;
  if (shape.empty()) files = models::open_checkpoint(dir = model_folder(dir));
  if (files && encoders::is_encoder(dir)) {
    const Json j = describe_encoder(files->config, files->weights);
    json ? fmt::print("{}\n", j.dump(2)) : print_encoder(j);
    if (tensors)
      for (const std::string& name : files->weights.names())
        fmt::print("{:<70} {}\n", name, to_string(files->weights.entry(name).shape));
    return 0;
  }
  auto model = models::build_model(nn::builtin_registry(), files ? files->config : config_of_shape(shape),
                                   files ? &files->weights : nullptr);
  Json j = describe(*model, files ? &files->weights : nullptr);
  const auto packed = files ? models::QuantizedReader::open(dir, files->config, files->weights) : nullptr;
  packed ? add_formats(j, *packed) : add_quantized_bytes(j, model->config());
  if (json)
    fmt::print("{}\n", j.dump(2));
  else
    print(j);
  if (tensors)
    model->visit(
        "", [](const std::string& name, grad::Parameter& p) { fmt::print("{:<70} {}\n", name, to_string(p.shape)); });
  return 0;
}

}  // namespace quern::cli

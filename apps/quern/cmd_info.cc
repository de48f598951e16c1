// quern info: family, sizes, parameters (all and active per token), memory of the state, and the weights' types.
#include <map>

#include "apps/quern/args.h"
#include "apps/quern/context.h"
#include "apps/quern/verbs.h"

namespace quern {
namespace {

std::string human(int64_t n) {
  const char* units[] = {"", " K", " M", " G", " T"};
  double v = static_cast<double>(n);
  int u = 0;
  while (v >= 1000 && u < 4) v /= 1000, ++u;
  return u == 0 ? fmt::format("{}", n) : fmt::format("{:.2f}{}", v, units[u]);
}

}  // namespace

int cmd_info(Words args) {
  std::string dir;
  bool json = false, tensors = false;
  Args a("info", "what a model folder holds");
  a.positional("DIR", dir).flag("--tensors", tensors, "list every parameter").flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;

  std::filesystem::path folder(dir);
  TensorFolder weights(folder);
  auto model = build_model(registry(), Json::read(folder / "config.json"), &weights);
  std::map<std::string, int64_t> by_type;
  for (const std::string& n : weights.names()) by_type[std::string(dtype_name(weights.entry(n).dtype))] += element_count(weights.entry(n).shape);
  int64_t trainable = parameter_count(*model), per_token = 0, fixed = 0;
  for (const StateSite& s : model->sites(DType::bf16)) per_token += s.spec.bytes_per_token(), fixed += s.spec.fixed_bytes();

  if (json) {
    Json j = Json::object(), types = Json::object();
    for (auto& [t, n] : by_type) types.set(t, n);
    j.set("family", model->family());
    j.set("parameters", trainable);
    j.set("vocab_size", model->vocab_size());
    j.set("max_positions", model->max_positions());
    j.set("checkpoint_tensors", static_cast<int64_t>(weights.names().size()));
    j.set("checkpoint_bytes", weights.bytes());
    j.set("elements_by_type", types);
    j.set("state_bytes_per_token", per_token);
    j.set("state_bytes_fixed", fixed);
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("family       {}\nparameters   {} ({})\nvocabulary   {}\ncontext      {} tokens\n", model->family(), human(trainable), trainable, model->vocab_size(), model->max_positions());
  fmt::print("checkpoint   {} tensors, {}B:", weights.names().size(), human(weights.bytes()));
  for (auto& [t, n] : by_type) fmt::print(" {} {}", human(n), t);
  fmt::print("\nstate        {} bytes a token (bf16 cache), {} bytes a sequence\n", per_token, fixed);
  if (tensors) {
    fmt::print("\n");
    model->visit("", [](const std::string& name, Parameter& p) { fmt::print("{:<70} {}\n", name, to_string(p.shape)); });
  }
  return 0;
}

}  // namespace quern

// quern pull: where a model is on this machine, or where to put it. Nothing is ever downloaded: on a machine with a network
// another tool does that, and this verb says which files it needs and into which folder they go.
#include <filesystem>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/hub_models.h"
#include "apps/quern/models/shipped_models.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

Json entry(const std::string& name, const fs::path& where) {
  Json j = Json::object();
  j.set("name", name), j.set("path", where.string()), j.set("bytes", weight_bytes(where));
  return j;
}

// Names of the Hugging Face cache whose files are there, and what is wrong with the others.
int list_models(bool json) {
  Json list = Json::array();
  if (const auto shipped = shipped_model(kShippedModel)) list.push(entry(kShippedModel, *shipped));
  for (const std::string& name : hub_names()) {
    try {
      list.push(entry(name, hub_model(name)));
    } catch (const Error& e) {
      Json j = Json::object();
      j.set("name", name), j.set("error", e.what());
      list.push(std::move(j));
    }
  }
  if (json) {
    Json j = Json::object();
    j.set("cache", hub_folder().string()), j.set("models", std::move(list));
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  for (const Json& m : list.as_array())
    if (const Json* fault = m.find("error"))
      fmt::print("{:<40} {}\n", m.at("name").as_string(), fault->as_string());
    else
      fmt::print("{:<40} {:>8} MiB  {}\n", m.at("name").as_string(), (m.at("bytes").as_int() + (1 << 20) - 1) >> 20,
                 m.at("path").as_string());
  fmt::print("Hugging Face cache: {}\n", hub_folder().string());
  return 0;
}

std::string without_revision(const std::string& name) { return name.substr(0, name.find('@')); }

int explain(const std::string& name) {
  const std::string model = without_revision(name), short_name = model.substr(model.find('/') + 1);
  fmt::print(stderr,
             "{0} is not on this machine, and Quern downloads nothing. Put it there in one of two ways:\n"
             "  1. On a machine with a network:  hf download {1} --local-dir {2}\n"
             "     Copy the folder {2} here:     quern run /path/to/{2}\n"
             "     It needs config.json, *.safetensors or pytorch_model*.bin, and tokenizer.json (or one .gguf file).\n"
             "  2. Where this machine has a network:  hf download {1}\n"
             "     That fills the Hugging Face cache, {3}, which Quern reads:  quern run {0}\n"
             "     HF_HUB_CACHE or HF_HOME name another cache folder.\n",
             name, model, short_name, hub_folder().string());
  return 1;
}

}  // namespace

int cmd_pull(Words args) {
  std::string name;
  bool json = false;
  Args a("pull", "find a model on this machine, or say where to put it");
  a.optional_positional("MODEL", name)
      .json(json)
      .note(
          "MODEL is a name such as org/name or org/name@REVISION, looked up in the Hugging Face cache, or a model "
          "that\n"
          "comes with Quern; without it, all of these are listed. Nothing is downloaded.");
  if (!a.parse(args)) return 0;
  if (name.empty()) return list_models(json);
  fs::path where;
  if (const auto shipped = shipped_model(name)) {
    where = *shipped;
  } else if (fs::exists(name)) {
    where = name;
  } else if (!is_hub_name(name)) {
    throw UsageError(
        fmt::format("quern pull: '{}': expected a name such as org/name, or a model that comes with Quern: {}", name,
                    kShippedModel));
  } else if (!in_hub_cache(name)) {
    return explain(name);
  } else {
    where = hub_model(name);  // or what is wrong with it
  }
  if (json)
    fmt::print("{}\n", entry(name, where).dump(2));
  else
    fmt::print("{}\n", where.string());
  fmt::print(stderr, "next: quern run {0}, or quern doctor {0} for what fits and how fast it will be\n", name);
  return 0;
}

}  // namespace quern::cli

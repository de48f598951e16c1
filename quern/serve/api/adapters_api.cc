// Names and paths are checked before anything is read.
#include "quern/serve/api/adapters_api.h"

#include <algorithm>
#include <cctype>

#include "quern/base/nearest.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

namespace fs = std::filesystem;

void allowed(const AdapterOptions& o) {
  if (!o.folder.empty() && o.entry) return;
  throw ApiError(403, "permission_error", "",
                 "this server does not load or unload adapters: it was started without an adapter folder");
}

std::string read_name(const Fields& f) {
  const std::string name = f.text("lora_name").value_or("");
  const bool good = !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_./").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (!good) bad_field("lora_name", "'{}': expected 1 to 128 letters, digits, '-', '_', '.' or '/'", name);
  return name;
}

// Where the path leads, links followed, if that is below the folder.
fs::path read_path(const Fields& f, const fs::path& folder) {
  const std::string given = f.text("lora_path").value_or("");
  if (given.empty()) bad_field("lora_path", "expected a folder below the server's adapter folder");
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) throw ApiError(503, "server_error", "adapter_dir", "the server cannot read its adapter folder");
  const fs::path path = fs::weakly_canonical(root / given, error);
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (error || end != root.end()) bad_field("lora_path", "'{}' is not below the server's adapter folder", given);
  if (!fs::exists(path / "adapter_config.json", error))
    bad_field("lora_path", "'{}' has no adapter_config.json, or does not exist", given);
  return path;
}

// As a client would name it: below the adapters' folder, or else its last part. Where it lies is nobody's business.
std::string shown_path(const std::string& adapter, const fs::path& folder) {
  const fs::path path = fs::path(adapter).lexically_normal();
  std::error_code error;
  const fs::path root = folder.empty() ? folder : fs::canonical(folder, error),
                 below = root.empty() ? fs::path() : path.lexically_relative(root);
  if (!below.empty() && *below.begin() != "..") return below.string();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

Json adapter_json(const ModelEntry& e, bool loaded, const fs::path& folder) {
  Json j = Json::object();
  j.set("id", e.id), j.set("object", "model"), j.set("parent", e.base);
  j.set("path", shown_path(e.adapter, folder));
  j.set("loaded", loaded);
  return j;
}

}  // namespace

Json list_adapters(const ModelManager& manager, const AdapterOptions& options,
                   const std::function<bool(const std::string& id)>& shown) {
  Json list = Json::array();
  for (const ModelEntry& e : manager.entries())
    if (!e.adapter.empty() && shown(e.id))
      list.push(adapter_json(e, manager.loaded(e.id) != nullptr, options.folder));
  return list;
}

Json load_adapter(ModelManager& manager, const AdapterOptions& options, const Json& body) {
  allowed(options);
  const Fields f(body);
  const std::string name = read_name(f);
  const fs::path path = read_path(f, options.folder);
  std::vector<std::string> bases;
  for (const ModelEntry& e : manager.entries()) {
    if (e.id == name) bad_field("lora_name", "'{}' is served already; unload it first, or take another name", name);
    if (e.adapter.empty()) bases.push_back(e.id);
  }
  const std::string base = f.text("base_model_name").value_or(bases.at(0));
  if (std::ranges::find(bases, base) == bases.end())
    bad_field("base_model_name", "'{}' is not one of {}{}", base, fmt::join(bases, ", "), did_you_mean(base, bases));
  const ModelEntry entry = options.entry(name, path.string(), base);
  if (!manager.add(entry)) bad_field("lora_name", "'{}' is served already", name);
  try {
    manager.get(name);
  } catch (const ApiError& x) {
    manager.remove(name);
    if (x.code == "model_load") throw ApiError(400, "invalid_request_error", "adapter_load", x.what());
    throw;
  }
  return adapter_json(entry, true, options.folder);
}

Json unload_adapter(ModelManager& manager, const AdapterOptions& options, const Json& body) {
  allowed(options);
  const std::string name = read_name(Fields(body));
  std::vector<std::string> adapters;
  for (const ModelEntry& e : manager.entries())
    if (!e.adapter.empty()) adapters.push_back(e.id);
  if (std::ranges::find(adapters, name) == adapters.end() || !manager.remove(name)) {
    ApiError x(404, "invalid_request_error", "adapter_not_found",
               fmt::format("there is no adapter '{}'{}; there are: {}", name, did_you_mean(name, adapters),
                           adapters.empty() ? "none" : fmt::format("{}", fmt::join(adapters, ", "))));
    x.param = "lora_name";
    throw x;
  }
  Json j = Json::object();
  j.set("id", name), j.set("object", "model"), j.set("deleted", true);
  return j;
}

}  // namespace quern::serve

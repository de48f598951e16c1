// Loading a model for the server's APIs.
#include "apps/quern/run/served_folder.h"

#include <filesystem>

#include "apps/quern/models/context.h"
#include "apps/quern/models/hub_models.h"
#include "quern/serve/wire/wire.h"

namespace quern::cli {

std::string model_id(const std::string& dir) {
  if (!std::filesystem::exists(dir) && is_hub_name(dir)) return dir.substr(0, dir.find('@'));
  std::filesystem::path p = std::filesystem::absolute(dir).lexically_normal();
  if (p.filename().empty()) p = p.parent_path();
  return p.extension() == ".gguf" ? p.stem().string() : p.filename().string();
}

std::unique_ptr<serve::ServedModel> load_served_folder(const std::string& id, const std::string& dir,
                                                       const models::LoadOptions& options) {
  auto model = load_for_inference(dir, options);
  text::ChatTemplate chat_template = models::load_chat_template(dir, model->family());
  return std::unique_ptr<serve::ServedModel>(new serve::ServedModel{.id = id,
                                                                    .model = std::move(model),
                                                                    .tokenizer = models::load_tokenizer(dir),
                                                                    .chat_template = std::move(chat_template),
                                                                    .defaults = models::load_generation_config(dir),
                                                                    .host = nullptr,
                                                                    .created = serve::unix_time()});
}

}  // namespace quern::cli

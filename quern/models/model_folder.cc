#include "quern/models/model_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include "quern/base/error.h"

namespace quern::models {
namespace fs = std::filesystem;
namespace {

// A folder that disappears unless it is kept.
class Draft {
 public:
  explicit Draft(const fs::path& target) : target_(target), path_(target) {
    path_ += fmt::format(".part{}", ::getpid());
    fs::create_directories(path_);
  }
  ~Draft() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  const fs::path& path() const { return path_; }
  void keep() {
    std::error_code e;
    fs::rename(path_, target_, e);
    if (e) fail("cannot rename {} to {}: {}", path_.string(), target_.string(), e.message());
    kept_ = true;
  }

 private:
  fs::path target_, path_;
  bool kept_ = false;
};

}  // namespace

void check_new_folder(const fs::path& to) {
  if (fs::exists(to) && !(fs::is_directory(to) && fs::is_empty(to)))
    fail("{} already exists: name a new folder", to.string());
}

void write_folder(const fs::path& to, const std::function<void(const fs::path&)>& fill) {
  try {
    Draft draft(to);
    fill(draft.path());
    if (fs::exists(to)) fs::remove(to);
    draft.keep();
  } catch (const fs::filesystem_error& e) {
    fail("cannot write {}: {}", to.string(), e.what());
  }
}

void copy_companions(const fs::path& from, const fs::path& to) {
  if (!fs::is_directory(from)) {
    for (const char* name :
         {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"})
      if (fs::exists(from.parent_path() / name)) fs::copy_file(from.parent_path() / name, to / name);
    return;
  }
  for (const fs::directory_entry& e : fs::directory_iterator(from)) {
    const std::string name = e.path().filename().string(), tail = e.path().extension().string();
    const bool text = tail == ".json" || tail == ".jinja" || tail == ".txt" || tail == ".model" || tail == ".md";
    if (e.is_regular_file() && text && name != "config.json" && !name.ends_with(".index.json"))
      fs::copy_file(e.path(), to / name);
  }
}

}  // namespace quern::models

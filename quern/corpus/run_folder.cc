#include "quern/corpus/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/mmap.h"

namespace quern::corpus {

namespace fs = std::filesystem;

RunFolder::RunFolder(const fs::path& out, std::string identity)
    : folder_(out / "unfinished"), identity_(std::move(identity)) {
  fs::create_directories(folder_);
  lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) fail("cannot open {}: {}", folder_.string(), std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    fail("{}: another process is writing there", out.string());
  }
  if (const fs::path file = folder_ / "state.json"; fs::exists(file)) {
    Json found = Json::read(file);
    const Json* whose = found.find("identity");
    if (whose && whose->is_string() && whose->as_string() == identity_)
      state_ = std::move(found);
    else
      discarded_ = true;
  }
  if (state_.is_null())
    for (const auto& e : fs::directory_iterator(folder_)) fs::remove_all(e.path());
}

RunFolder::~RunFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void RunFolder::save(Json state) {
  state.set("identity", identity_);
  write_file(folder_ / "state.json", state.dump());
}

// The state goes first: a run killed on the way leaves nothing that another would go on from without its files.
void RunFolder::remove() {
  fs::remove(folder_ / "state.json");
  fs::remove_all(folder_);
}

}  // namespace quern::corpus

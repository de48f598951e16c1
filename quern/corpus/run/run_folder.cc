#include "quern/corpus/run/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/file_lock.h"
#include "quern/base/mmap.h"
#include "quern/corpus/io/hashing.h"

namespace quern::corpus {

namespace fs = std::filesystem;

namespace {

// A run that ends removes its folder: what is locked may be a folder that no path leads to any more.
bool is_at(int folder, const fs::path& path) {
  struct stat held {};
  struct stat there {};
  return ::fstat(folder, &held) == 0 && ::stat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

// A locked folder, or −1 when another process has the lock, or had it and removed the folder.
int lock_folder(const fs::path& folder, std::chrono::milliseconds patience) {
  const int lock = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0) fail("cannot open {}: {}", folder.string(), std::strerror(errno));
  if (lock_exclusively(lock, patience) && is_at(lock, folder)) return lock;
  ::close(lock);
  return -1;
}

void clear(const fs::path& folder) {
  for (const auto& e : fs::directory_iterator(folder)) fs::remove_all(e.path());
}

// What a process was killed over in `out`: whole files are written as NAME.partNUMBER and then renamed. Those of a run
// with another lock stay: it may be at work.
void clear_interrupted(const fs::path& out, const std::vector<std::string>& names) {
  std::vector<fs::path> left;
  for (const auto& e : fs::directory_iterator(out))
    for (const std::string& name : names) {
      const std::string file = e.path().filename().string(), part = name + ".part";
      if (file.size() > part.size() && file.starts_with(part) &&
          file.find_first_not_of("0123456789", part.size()) == file.npos)
        left.push_back(e.path());
    }
  for (const auto& file : left) fs::remove(file);
}

}  // namespace

std::string run_identity(const Inputs& inputs, const std::string& what) {
  std::string all = what;
  for (const InputFile& f : inputs.files)
    all += fmt::format("\n{} {} {} {}", inputs.sources[f.source], fs::absolute(f.path).string(), f.bytes,
                       fs::last_write_time(f.path).time_since_epoch().count());
  if (!inputs.source_ends.empty())
    all += fmt::format("\n{} {}", fmt::join(inputs.sources, " "), fmt::join(inputs.source_ends, " "));
  return fmt::format("{:016x}", content_hash(all).low);
}

void refuse_finished(const fs::path& out) {
  fs::create_directories(out);
  if (!fs::exists(out / "manifest.json")) return;
  if (const fs::path folder = out / RunFolder::kName; fs::is_directory(folder)) {
    const int lock = lock_folder(folder, {});
    if (lock >= 0) fs::remove_all(folder), ::close(lock);
  }
  fail("{} already contains a manifest.json: name another folder", out.string());
}

fs::path RunFolder::of_rank(int r) const { return ranks_.alone() ? root_ : root_ / fmt::format("rank-{:03}", r); }

RunFolder::RunFolder(const fs::path& out, std::string identity, Ranks ranks, const RunNames& names)
    : ranks_(ranks), root_(out / names.folder), folder_(of_rank(ranks.rank())), identity_(std::move(identity)) {
  if (ranks_.first()) {
    fs::create_directories(root_);
    lock_ = lock_folder(root_, kLockPatience);
    if (lock_ < 0) fail("{} is being written by another process", root_.string());
    clear_interrupted(out, names.whole_files);
    // A run of one rank has its state here, one of more ranks does not.
    const bool other = ranks_.alone() ? fs::exists(root_ / "rank-000") : fs::exists(root_ / "state.json");
    if (other) discarded_ = true, clear(root_);
  }
  ranks_.barrier();
  fs::create_directories(folder_);
  if (const fs::path file = folder_ / "state.json"; fs::exists(file)) {
    Json found = Json::read(file);
    const Json* whose = found.find("identity");
    if (whose && whose->is_string() && whose->as_string() == identity_)
      state_ = std::move(found);
    else
      discarded_ = true;
  }
  discarded_ = ranks_.any(discarded_);
  if (ranks_.any(state_.is_null())) {
    state_ = Json();
    clear(folder_);
  }
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
  ranks_.barrier();
  if (ranks_.first()) fs::remove_all(root_);
}

}  // namespace quern::corpus

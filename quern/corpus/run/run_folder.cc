#include "quern/corpus/run/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/file_lock.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/io/run_manifest.h"

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

// A folder that nobody else works in while this lives; Error otherwise.
class Held {
 public:
  explicit Held(const fs::path& folder) : lock_(lock_folder(folder, kLockPatience)) {
    if (lock_ < 0) fail("{} is being written by another process", folder.string());
  }
  Held(Held&& o) noexcept : lock_(std::exchange(o.lock_, -1)) {}
  ~Held() {
    if (lock_ >= 0) ::close(lock_);
  }

 private:
  int lock_;
};

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

void clear(const fs::path& folder) {
  for (const auto& e : fs::directory_iterator(folder))
    if (e.path().filename() != kReplaced) fs::remove_all(e.path());
}

bool is_listed(const std::vector<OwnedFile>& files, const std::string& name) {
  return std::ranges::any_of(files, [&](const OwnedFile& f) { return is_name_or_part(name, f.name); });
}

// The files of a run and of its later stages, as its manifest or its list of the moment names them.
void collect_files(const fs::path& manifest, std::vector<fs::path>& files, std::vector<fs::path>& unfinished) {
  const fs::path folder = manifest.parent_path(), work = unfinished_of(manifest);
  std::vector<OwnedFile> owned = manifest_files(manifest).value_or(std::vector<OwnedFile>());
  if (const auto more = unfinished_files(work)) {
    owned.insert(owned.end(), more->begin(), more->end());
    unfinished.push_back(work);
  }
  for (const OwnedFile& f : owned) {
    if (fs::is_regular_file(folder / f.name)) files.push_back(folder / f.name);
    if (f.name.ends_with(".json") && folder / f.name != manifest) collect_files(folder / f.name, files, unfinished);
  }
  if (fs::exists(manifest)) files.push_back(manifest);
}

}  // namespace

void remove_interrupted(const fs::path& out, const std::vector<std::string>& names) {
  std::vector<fs::path> left;
  for (const auto& e : fs::directory_iterator(out))
    for (const std::string& name : names) {
      const std::string file = e.path().filename().string();
      if (file.size() > name.size() + 5 && is_name_or_part(file, name)) left.push_back(e.path());
    }
  for (const auto& file : left) fs::remove(file);
}

std::string run_identity(const Inputs& inputs, const std::string& what) {
  std::string all = "2 " + what;  // the number: of what a saved state holds
  for (const InputFile& f : inputs.files) {
    all += fmt::format("\n{} {} {} ", inputs.sources[f.source], fs::absolute(f.path).string(), f.bytes);
    // What a pipe brings is not there again: no other process goes on with it.
    all += f.pipe ? fmt::format("{} {}", ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count())
                  : fmt::format("{}", fs::last_write_time(f.path).time_since_epoch().count());
  }
  if (!inputs.source_ends.empty())
    all += fmt::format("\n{} {}", fmt::join(inputs.sources, " "), fmt::join(inputs.source_ends, " "));
  return fmt::format("{:016x}", content_hash(all).low);
}

namespace {

// Everything that lies below `out` and is neither listed nor the work of a run is somebody else's. Returns the folders.
std::set<fs::path> refuse_others(const fs::path& out, const std::vector<fs::path>& files,
                                 const std::vector<fs::path>& unfinished) {
  const std::set<fs::path> known(files.begin(), files.end()), work(unfinished.begin(), unfinished.end());
  std::set<fs::path> folders;
  for (auto e = fs::recursive_directory_iterator(out); e != fs::recursive_directory_iterator(); ++e) {
    if (e->path() == out / RunFolder::kName || work.contains(e->path())) {
      e.disable_recursion_pending();
    } else if (e->is_directory() && !e->is_symlink()) {
      folders.insert(e->path());
    } else if (!known.contains(e->path())) {
      fail("{} holds {}, which its manifest does not name: move it away or name another folder; nothing was removed",
           out.string(), e->path().lexically_relative(out).string());
    }
  }
  return folders;
}

void refuse_own_inputs(const std::vector<fs::path>& files, const Inputs& inputs) {
  std::set<fs::path> same;
  for (const fs::path& f : files) same.insert(fs::weakly_canonical(f));
  for (const InputFile& f : inputs.files)
    if (same.contains(fs::weakly_canonical(f.path)))
      fail(
          "{} is an input and belongs to the run that is to be overwritten: name another folder; nothing was removed",
          f.path.string());
}

// Files into, or back out of, the folder of replaced ones.
void move_files(const std::vector<fs::path>& files, const fs::path& from, const fs::path& to) {
  for (const fs::path& f : files) {
    const fs::path target = to / f.lexically_relative(from);
    fs::create_directories(target.parent_path());
    fs::rename(f, target);
  }
}

// A process that was killed while it set a run aside: its manifest still lies where it was, and its files go back there.
void undo_replacing(const fs::path& manifest) {
  const fs::path out = folder_of(manifest), work = unfinished_of(manifest), aside = work / kReplaced;
  const auto half = [&] {
    return fs::exists(manifest) && fs::is_directory(aside) && !fs::exists(aside / manifest.filename());
  };
  if (!half()) return;
  const Held held(work);
  if (!half()) return;
  std::vector<fs::path> files;
  for (const auto& e : fs::recursive_directory_iterator(aside))
    if (e.is_regular_file()) files.push_back(e.path());
  move_files(files, aside, out);
  fs::remove_all(aside);
}

// The run behind this unfinished folder has its manifest: nothing stays but, for later stages, what it takes the place of.
void end_work(const fs::path& work) {
  if (fs::is_directory(work / kReplaced) && fs::exists(folder_of(work) / kLaterStages))
    clear(work);
  else
    remove_work(work);
}

// What a run that was killed in its last moment left beside its manifest goes, unless somebody is at work there.
bool is_finished(const fs::path& manifest) {
  undo_replacing(manifest);
  if (!fs::exists(manifest)) return false;
  if (const fs::path folder = unfinished_of(manifest); fs::is_directory(folder)) {
    const int lock = lock_folder(folder, {});
    if (lock >= 0) end_work(folder), ::close(lock);
  }
  return true;
}

}  // namespace

void remove_work(const fs::path& unfinished) {
  const fs::path gone = unfinished / kGone;
  if (fs::is_directory(unfinished / kReplaced)) {
    fs::remove_all(gone);
    fs::rename(unfinished / kReplaced, gone);
  }
  fs::remove_all(unfinished);
}

namespace {

// A run whose later stages are still to come, and which was to take the place of another one, is to be replaced: that
// other one is the last complete run, and stays aside; the files of this one go. Until its manifest is gone nobody goes
// on with it, and behind it the next run removes what is listed.
void drop_incomplete(const fs::path& manifest, const std::vector<fs::path>& files,
                     const std::set<fs::path>& folders) {
  const fs::path out = folder_of(manifest), work = unfinished_of(out / manifest.filename());
  write_file(out / kLaterStages, R"({"identity":"","kept":[]})");
  for (const fs::path& f : files)
    if (f != out / kLaterStages) fs::remove(f);
  for (auto f = folders.rbegin(); f != folders.rend(); ++f)
    if (fs::is_empty(*f)) fs::remove(*f);
  list_file(work, {kLaterStages});
  fs::remove(manifest);
  fs::remove(out / kLaterStages);
}

}  // namespace

void refuse_finished(const fs::path& out) {
  fs::create_directories(out);
  if (!is_finished(out / "manifest.json")) return;
  fail("{} already contains a manifest.json: name another folder, or ask for its earlier run to be overwritten",
       out.string());
}

void refuse_finished_files(const fs::path& manifest, const std::vector<std::string>& names) {
  if (is_finished(manifest))
    fail("{} exists: name another PREFIX or FILE, or ask for its earlier run to be overwritten", manifest.string());
  const auto listed = unfinished_files(unfinished_of(manifest)).value_or(std::vector<OwnedFile>());
  for (const std::string& name : names)
    if (const fs::path file = manifest.parent_path() / name; fs::exists(file) && !is_listed(listed, name))
      fail("{} exists, and no corpus run that can be resumed wrote it: name another PREFIX or FILE", file.string());
}

void replace_finished(const fs::path& manifest, const Inputs& inputs, OutFolder folder) {
  undo_replacing(manifest);
  if (!fs::exists(manifest)) return;
  if (!manifest_files(manifest))
    fail("{} is not the manifest of a corpus run that lists its files: nothing was removed", manifest.string());
  const fs::path out = folder_of(manifest), work = unfinished_of(out / manifest.filename());
  std::vector<fs::path> files, unfinished;
  collect_files(out / manifest.filename(), files, unfinished);
  std::set<fs::path> folders;
  if (folder == OutFolder::whole) folders = refuse_others(out, files, unfinished);
  refuse_own_inputs(files, inputs);
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  std::erase(files, out / manifest.filename());
  fs::create_directories(work);
  unfinished.push_back(work);
  {
    std::vector<Held> held;
    std::ranges::sort(unfinished);
    unfinished.erase(std::unique(unfinished.begin(), unfinished.end()), unfinished.end());
    for (const fs::path& f : unfinished) held.emplace_back(f);
    const bool keep = folder == OutFolder::whole && fs::exists(out / kLaterStages) &&
                      fs::is_regular_file(work / kReplaced / manifest.filename());
    for (const fs::path& f : unfinished)
      if (!keep || f != work) remove_work(f);
    if (keep) return drop_incomplete(out / manifest.filename(), files, folders);
  }
  fs::create_directories(work / kReplaced);
  const Held held(work);
  move_files(files, out, work / kReplaced);
  for (auto f = folders.rbegin(); f != folders.rend(); ++f)
    if (fs::is_empty(*f)) fs::remove(*f);
  move_files({out / manifest.filename()}, out, work / kReplaced);  // last: until then `out` is a finished run's
}

Json write_manifest(const fs::path& out, const Json& manifest, const std::vector<std::string>& later) {
  Json whole = with_files(manifest, out / RunFolder::kName, later);
  write_file(out / "manifest.json", whole.dump(2) + "\n");
  return whole;
}

fs::path RunFolder::of_rank(int r) const { return ranks_.alone() ? root_ : root_ / fmt::format("rank-{:03}", r); }

RunFolder::RunFolder(const fs::path& out, std::string identity, Ranks ranks, const RunNames& names)
    : ranks_(ranks), root_(out / names.folder), folder_(of_rank(ranks.rank())), identity_(std::move(identity)) {
  if (ranks_.first()) {
    fs::create_directories(out);
    made_ = fs::create_directory(root_);
    lock_ = lock_folder(root_, kLockPatience);
    if (lock_ < 0) fail("{} is being written by another process", root_.string());
    if (!made_ || !names.whole_folder) remove_interrupted(out, names.whole_files);
    // A run of one rank has its state here, one of more ranks does not.
    const bool other = ranks_.alone() ? fs::exists(root_ / "rank-000") : fs::exists(root_ / "state.json");
    if (other) {
      discarded_ = true;
      for (const auto& e : fs::directory_iterator(root_))
        if (e.path().filename() != "files" && e.path().filename() != kReplaced) fs::remove_all(e.path());
    }
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
    if (ranks_.first()) start_over(out, names);
    ranks_.barrier();
    if (!ranks_.first()) clear(folder_);
  }
}

// Lists are for files that lie in `out` itself; a folder of that name, of a saved index, is left alone.
void RunFolder::start_over(const fs::path& out, const RunNames& names) {
  const std::vector<OwnedFile> listed = unfinished_files(root_).value_or(std::vector<OwnedFile>());
  std::vector<fs::path> own;
  std::string other;
  for (const auto& e : fs::directory_iterator(out)) {
    if (!names.whole_folder || e.path() == root_) continue;
    const std::string name = e.path().filename().string();
    if (!is_listed(listed, name))
      other = other.empty() ? name : std::min(other, name);
    else if (e.is_regular_file())
      own.push_back(e.path());
  }
  if (!other.empty()) {
    ::close(std::exchange(lock_, -1));
    if (made_) fs::remove_all(root_);
    fail("{} holds {}, which no corpus run that can be resumed wrote: name a new or an empty folder", out.string(),
         other);
  }
  for (const OwnedFile& f : listed)  // of a killed run that made more than this one will
    if (!names.whole_folder && fs::is_regular_file(out / f.name)) own.push_back(out / f.name);
  for (const fs::path& file : own) fs::remove(file);
  fs::remove(root_ / "files");
  clear(folder_);
  for (const std::string& name : names.whole_files) list_file(root_, {name});
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
  if (ranks_.first()) end_work(root_);
}

}  // namespace quern::corpus

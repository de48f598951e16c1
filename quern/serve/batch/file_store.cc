// Ids are checked letter by letter before they become part of a path.
#include "quern/serve/batch/file_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "quern/base/error.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFacts = ".json";
constexpr const char* kIdPrefix = "file-";
constexpr size_t kIdDigits = 24, kMaxFiles = 10'000;
constexpr int64_t kMaxStoredBytes = int64_t{4} << 30;

bool is_file_id(const std::string& id) {
  const std::string_view digits = std::string_view(id).substr(std::min(id.size(), std::strlen(kIdPrefix)));
  return id.starts_with(kIdPrefix) && digits.size() == kIdDigits &&
         std::ranges::all_of(digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

[[noreturn]] void no_file(const std::string& id) {
  throw ApiError(404, "invalid_request_error", "", fmt::format("there is no file '{}'", id));
}

[[noreturn]] void disk_trouble(const fs::path& file) {
  throw ApiError(507, "server_error", "",
                 fmt::format("{} cannot be written: {}", file.filename().string(), std::strerror(errno)));
}

StoredFile file_of(const Json& j) {
  const Json* owner = j.find("owner");
  return {.id = j.at("id").as_string(),
          .name = j.at("filename").as_string(),
          .purpose = j.at("purpose").as_string(),
          .bytes = j.at("bytes").as_int(),
          .created = j.at("created_at").as_int(),
          .owner = owner ? owner->as_string() : ""};
}

}  // namespace

Json StoredFile::json() const {
  Json j = Json::object();
  j.set("id", id), j.set("object", "file"), j.set("bytes", bytes), j.set("created_at", created);
  j.set("filename", name), j.set("purpose", purpose), j.set("status", "processed");
  return j;
}

Json page_json(const std::vector<Json>& items, const PageRequest& page) {
  Json j = Json::object(), data = Json::array();
  auto at = items.begin();
  if (!page.after.empty()) {
    at = std::ranges::find_if(items, [&](const Json& i) { return i.at("id").as_string() == page.after; });
    if (at == items.end()) bad_field("after", "there is no '{}' here", page.after);
    ++at;
  }
  for (; at != items.end() && static_cast<int64_t>(data.as_array().size()) < page.limit; ++at) data.push(*at);
  const auto id = [&](bool first) {
    const Json::Array& all = data.as_array();
    return all.empty() ? Json() : (first ? all.front() : all.back()).at("id");
  };
  const Json first = id(true), last = id(false);
  j.set("object", "list"), j.set("data", std::move(data)), j.set("first_id", first), j.set("last_id", last);
  j.set("has_more", at != items.end());
  return j;
}

StateFolder::StateFolder(const fs::path& folder) : path_(folder), temporary_(folder.empty()) {
  if (temporary_) {
    std::string name = (fs::temp_directory_path() / "quern-batch-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail("cannot make a temporary folder for files: {}", std::strerror(errno));
    path_ = name;
    return;
  }
  std::error_code error;
  if (fs::create_directories(path_, error)) fs::permissions(path_, fs::perms::owner_all, error);
  if (!fs::is_directory(path_)) fail("{}: expected a folder for files and batches", path_.string());
}

StateFolder::~StateFolder() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(path_, ignored);
}

void write_private(const fs::path& file, std::string_view content) {
  const fs::path part = file.string() + ".part";
  const int f = ::open(part.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (f < 0) disk_trouble(file);
  bool good = true;
  while (good && !content.empty()) {
    const ssize_t n = ::write(f, content.data(), content.size());
    good = n > 0 || (n < 0 && errno == EINTR);
    if (n > 0) content.remove_prefix(static_cast<size_t>(n));
  }
  good = good && ::fsync(f) == 0;
  good = ::close(f) == 0 && good;
  if (good && ::rename(part.c_str(), file.c_str()) == 0) return;
  const int why = errno;
  ::unlink(part.c_str());
  errno = why;
  disk_trouble(file);
}

std::string read_whole(const fs::path& file) {
  std::ifstream f(file, std::ios::binary);
  if (!f) fail("cannot open {}", file.filename().string());
  std::ostringstream out;
  out << f.rdbuf();
  return std::move(out).str();
}

FileStore::FileStore(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  if (fs::create_directories(folder_, error)) fs::permissions(folder_, fs::perms::owner_all, error);
  if (!fs::is_directory(folder_)) fail("{}: expected a folder for files", folder_.string());
}

fs::path FileStore::path_of(const std::string& id) const {
  if (!is_file_id(id)) no_file(id);
  return folder_ / id;
}

StoredFile FileStore::add(const NewFile& file, std::string_view content) {
  StoredFile f{.id = new_id(kIdPrefix),
               .name = file.name,
               .purpose = file.purpose,
               .bytes = static_cast<int64_t>(content.size()),
               .created = unix_time(),
               .owner = file.owner};
  size_t files = 0, own_files = 0;
  int64_t bytes = f.bytes, own_bytes = f.bytes;
  for (const StoredFile& x : list({})) {  // of everybody
    ++files, bytes += x.bytes;
    if (x.owner == f.owner) ++own_files, own_bytes += x.bytes;
  }
  if (files >= kMaxFiles || bytes > kMaxStoredBytes)
    throw ApiError(507, "server_error", "files_full",
                   fmt::format("this server keeps at most {} files of {} MiB in all: delete some", kMaxFiles,
                               kMaxStoredBytes >> 20));
  // One of several users leaves room to the others.
  if (!f.owner.empty() && (own_files >= kMaxFiles / 2 || own_bytes > kMaxStoredBytes / 2))
    throw ApiError(507, "server_error", "files_full",
                   fmt::format("a key keeps at most {} files of {} MiB in all: delete some", kMaxFiles / 2,
                               kMaxStoredBytes >> 21));
  std::lock_guard lock(mutex_);
  const fs::path path = path_of(f.id);
  write_private(path, content);
  Json facts = f.json();
  if (!f.owner.empty()) facts.set("owner", f.owner);
  write_private(path.string() + kFacts, facts.dump());  // last: a file without facts is not listed
  return f;
}

StoredFile FileStore::get(const std::string& id, const Caller& who) const {
  const fs::path facts = path_of(id).string() + kFacts;
  std::lock_guard lock(mutex_);
  if (!fs::is_regular_file(facts)) no_file(id);
  StoredFile f = file_of(Json::read(facts));
  if (!who.reaches(f.owner)) no_file(id);
  return f;
}

std::string FileStore::content(const std::string& id, const Caller& who) const {
  get(id, who);
  std::lock_guard lock(mutex_);
  return read_whole(path_of(id));
}

void FileStore::erase(const std::string& id, const Caller& who) {
  get(id, who);
  std::lock_guard lock(mutex_);
  std::error_code error;
  fs::remove(path_of(id).string() + kFacts, error);
  fs::remove(path_of(id), error);
}

std::vector<StoredFile> FileStore::list(const Caller& who) const {
  std::vector<StoredFile> out;
  std::lock_guard lock(mutex_);
  for (const auto& f : fs::directory_iterator(folder_))
    if (f.path().extension() == kFacts && is_file_id(f.path().stem().string())) out.push_back(file_of(Json::read(f)));
  std::erase_if(out, [&](const StoredFile& f) { return !who.reaches(f.owner); });
  std::ranges::sort(out, [](const StoredFile& a, const StoredFile& b) {
    return std::pair(-a.created, a.id) < std::pair(-b.created, b.id);
  });
  return out;
}

}  // namespace quern::serve

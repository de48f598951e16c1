#include "quern/train/checkpoint/format.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace quern::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "quern checkpoint";
constexpr int64_t kVersion = 1;

Json to_json(const Shape& s) {
  Json a = Json::array();
  for (int64_t d : s) a.push(d);
  return a;
}

Shape parse_shape(const Json& j, const std::string& what) {
  Shape s;
  int64_t n = 1;
  for (const Json& d : j.as_array(what)) {
    s.push_back(d.as_int(what));
    if (s.back() < 0) fail("{}: extent {} is negative", what, s.back());
    if (__builtin_mul_overflow(n, s.back(), &n)) fail("{}: {} is too large", what, to_string(s));
  }
  return s;
}

int64_t count_at(const Json& j, const char* key, const std::string& where) {
  const int64_t n = j.at(key, where).as_int(where + ", " + key);
  if (n < 0) fail("{}, {}: {} is negative", where, key, n);
  return n;
}

uint32_t crc_at(const Json& j, const std::string& where) {
  const int64_t n = count_at(j, "crc32c", where);
  if (n > 0xffffffffll) fail("{}, crc32c: {} has more than 32 bits", where, n);
  return static_cast<uint32_t>(n);
}

std::string file_at(const Json& j, const std::string& where) {
  const std::string name = j.at("file", where).as_string(where + ", file");
  if (name.empty() || name[0] == '.' || name.find('/') != name.npos)
    fail("{}, file: '{}' is not a file name", where, name);
  return name;
}

std::optional<int64_t> parse_count(std::string_view s) {
  int64_t n = 0;
  const auto [p, e] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (e != std::errc() || p != s.data() + s.size() || n < 0 || s.empty()) return std::nullopt;
  return n;
}

// "step_40", "step_40.2"
std::optional<StepFolder> parse_step_folder(const fs::path& path) {
  std::string name = path.filename().string();
  if (!name.starts_with("step_")) return std::nullopt;
  name.erase(0, 5);
  StepFolder f;
  f.path = path;
  if (const size_t dot = name.find('.'); dot != name.npos) {
    const auto g = parse_count(std::string_view(name).substr(dot + 1));
    if (!g) return std::nullopt;
    f.generation = *g;
    name.resize(dot);
  }
  const auto n = parse_count(name);
  if (!n) return std::nullopt;
  f.step = *n;
  std::error_code e;
  f.committed = fs::exists(path / "COMMIT.json", e);
  return f;
}

}  // namespace

Json to_json(const StoredTensor& t) {
  Json j = Json::object(), chunks = Json::array();
  j.set("name", t.name), j.set("role", t.role), j.set("dtype", dtype_name(t.dtype)), j.set("shape", to_json(t.shape));
  for (const StoredChunk& c : t.chunks) {
    Json k = Json::object();
    k.set("file", c.file), k.set("file_offset", c.offset);
    k.set("kind", c.piece.is_box() ? "box" : "flat");
    k.set("offset", to_json(c.piece.offset)), k.set("shape", to_json(c.piece.shape));
    if (!c.piece.is_box()) k.set("begin", c.piece.begin), k.set("end", c.piece.end);
    k.set("crc32c", int64_t{c.crc});
    chunks.push(std::move(k));
  }
  j.set("chunks", std::move(chunks));
  return j;
}

StoredTensor parse_stored_tensor(const Json& j, const std::string& where) {
  StoredTensor t;
  t.name = j.at("name", where).as_string(where + ", name");
  const std::string what = fmt::format("{}, tensor '{}'", where, t.name);
  t.role = j.at("role", what).as_string(what + ", role");
  t.dtype = parse_dtype(j.at("dtype", what).as_string(what + ", dtype"));
  t.shape = parse_shape(j.at("shape", what), what + ", shape");
  int64_t bytes = 0;
  if (__builtin_mul_overflow(element_count(t.shape), dtype_size(t.dtype), &bytes))
    fail("{}, shape: {} is too large", what, to_string(t.shape));
  for (const Json& k : j.at("chunks", what).as_array(what + ", chunks")) {
    StoredChunk c;
    c.file = file_at(k, what);
    c.offset = count_at(k, "file_offset", what);
    c.piece.offset = parse_shape(k.at("offset", what), what + ", chunk offset");
    c.piece.shape = parse_shape(k.at("shape", what), what + ", chunk shape");
    const std::string& kind = k.at("kind", what).as_string(what + ", kind");
    if (kind != "box" && kind != "flat") fail("{}, kind: expected box or flat, found '{}'", what, kind);
    c.piece.begin = kind == "box" ? 0 : count_at(k, "begin", what);
    c.piece.end = kind == "box" ? element_count(c.piece.shape) : count_at(k, "end", what);
    c.crc = crc_at(k, what);
    if (std::string wrong = piece_complaint(c.piece, t.shape); !wrong.empty()) fail("{}, chunk: {}", what, wrong);
    t.chunks.push_back(std::move(c));
  }
  return t;
}

Json to_json(const CheckpointCommit& c) {
  Json j = Json::object(), index = Json::object(), files = Json::array();
  j.set("format", kFormat), j.set("version", kVersion), j.set("step", c.step), j.set("save", c.save);
  index.set("file", "index.json"), index.set("bytes", c.index_bytes), index.set("crc32c", int64_t{c.index_crc});
  for (const auto& [name, bytes] : c.files) {
    Json f = Json::object();
    f.set("file", name), f.set("bytes", bytes);
    files.push(std::move(f));
  }
  j.set("index", std::move(index)), j.set("files", std::move(files));
  return j;
}

CheckpointCommit read_commit(const fs::path& folder) {
  const fs::path path = folder / "COMMIT.json";
  const std::string where = path.string();
  if (!fs::is_directory(folder)) fail("{} is not a folder", folder.string());
  if (!fs::exists(path)) fail("{} has no COMMIT.json: this checkpoint was never completed", folder.string());
  const Json j = Json::read(path);
  const std::string& format = j.at("format", where).as_string(where + ", format");
  if (format != kFormat) fail("{}, format: expected '{}', found '{}'", where, kFormat, format);
  const int64_t version = j.at("version", where).as_int(where + ", version");
  if (version != kVersion) fail("{}, version: expected {}, found {}", where, kVersion, version);
  CheckpointCommit c;
  c.step = count_at(j, "step", where);
  c.save = j.at("save", where).as_string(where + ", save");
  const Json& index = j.at("index", where);
  c.index_bytes = count_at(index, "bytes", where + ", index");
  c.index_crc = crc_at(index, where + ", index");
  for (const Json& f : j.at("files", where).as_array(where + ", files"))
    c.files.emplace_back(file_at(f, where + ", files"), count_at(f, "bytes", where + ", files"));
  return c;
}

std::vector<StepFolder> step_folders(const fs::path& dir) {
  std::vector<StepFolder> out;
  std::error_code e;
  for (fs::directory_iterator it(dir, e), end; !e && it != end; it.increment(e))
    if (it->is_directory(e))
      if (const auto f = parse_step_folder(it->path())) out.push_back(*f);
  std::sort(out.begin(), out.end(), [](const StepFolder& a, const StepFolder& b) {
    return std::pair(a.step, a.generation) > std::pair(b.step, b.generation);
  });
  return out;
}

std::optional<fs::path> latest_committed(const fs::path& dir) {
  for (const StepFolder& f : step_folders(dir))
    if (f.committed) return f.path;
  return std::nullopt;
}

void discard_newer(const fs::path& dir, int64_t step) {
  for (const StepFolder& f : step_folders(dir))
    if (f.step > step) remove_step_folder(f.path);
}

void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail("cannot open {}: {}", folder.string(), std::strerror(errno));
  const int code = ::fsync(fd), e = errno;
  ::close(fd);
  if (code != 0) fail("cannot sync {}: {}", folder.string(), std::strerror(e));
}

void write_durably(const fs::path& file, std::string_view content) {
  fs::path part = file;
  part += ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail("cannot write {}: {}", file.string(), std::strerror(errno));
  bool ok = true;
  for (size_t at = 0; ok && at < content.size();) {
    const ssize_t n = ::write(fd, content.data() + at, content.size() - at);
    if (n < 0 && errno == EINTR) continue;
    ok = n > 0;
    if (ok) at += static_cast<size_t>(n);
  }
  ok = ok && ::fsync(fd) == 0;
  int e = errno;
  ok = ::close(fd) == 0 && ok;
  if (ok && ::rename(part.c_str(), file.c_str()) != 0) ok = false, e = errno;
  if (!ok) {
    ::unlink(part.c_str());
    fail("cannot write {}: {}", file.string(), std::strerror(e));
  }
  sync_folder(file.parent_path());
}

void remove_step_folder(const fs::path& folder) {
  std::error_code e;
  if (fs::remove(folder / "COMMIT.json", e)) sync_folder(folder);
  fs::remove_all(folder, e);
  if (e) fail("cannot remove {}: {}", folder.string(), e.message());
}

}  // namespace quern::train

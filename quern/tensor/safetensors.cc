#include "quern/tensor/safetensors.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "quern/base/json.h"
#include "quern/base/mmap.h"

namespace quern {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's bound too

DType parse_entry_dtype(const std::string& name, const std::string& what) {
  try {
    return parse_dtype(name);
  } catch (const Error& e) {
    fail("{}, dtype: {}", what, e.what());
  }
}

SafetensorsFile::Entry parse_entry(const Json& j, const std::string& what, size_t data_at, size_t file_size) {
  SafetensorsFile::Entry e;
  if (!j.is_object()) fail("{}: expected an object with dtype, shape and data_offsets", what);
  e.dtype = parse_entry_dtype(j.at("dtype", what).as_string(what + ", dtype"), what);
  for (const Json& d : j.at("shape", what).as_array(what + ", shape")) {
    e.shape.push_back(d.as_int(what + ", shape"));
    if (e.shape.back() < 0) fail("{}, shape: extent {} is negative", what, e.shape.back());
  }
  const auto& off = j.at("data_offsets", what).as_array(what + ", data_offsets");
  if (off.size() != 2) fail("{}, data_offsets: expected two numbers, found {}", what, off.size());
  int64_t b = off[0].as_int(what + ", data_offsets"), n = off[1].as_int(what + ", data_offsets");
  int64_t bytes = dtype_size(e.dtype);
  bool overflow = false;
  for (int64_t d : e.shape) overflow = __builtin_mul_overflow(bytes, d, &bytes) || overflow;
  if (overflow) fail("{}, shape: {} is too large", what, to_string(e.shape));
  if (b < 0 || n < b || static_cast<uint64_t>(n) > file_size - data_at)
    fail("{}, data_offsets: [{}, {}) is outside the {} data bytes of the file (truncated?)", what, b, n,
         file_size - data_at);
  if (n - b != bytes)
    fail("{}, data_offsets: {} bytes given, but shape {} of {} needs {}", what, n - b, to_string(e.shape),
         dtype_name(e.dtype), bytes);
  e.begin = data_at + static_cast<size_t>(b);
  e.end = data_at + static_cast<size_t>(n);
  return e;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(std::make_shared<MappedFile>(path)) {
  auto bytes = file_->bytes();
  std::string where = path.string();
  if (bytes.size() < 8) fail("{}: not a safetensors file: {} bytes, expected at least 8", where, bytes.size());
  uint64_t n = 0;
  std::memcpy(&n, bytes.data(), 8);
  if (n > kMaxHeader || n > bytes.size() - 8)
    fail("{}: header length {} does not fit the file of {} bytes (truncated, or not safetensors)", where, n,
         bytes.size());
  size_t data_at = 8 + static_cast<size_t>(n);
  Json header =
      Json::parse({reinterpret_cast<const char*>(bytes.data()) + 8, static_cast<size_t>(n)}, where + ", header");
  for (const auto& [name, j] : header.as_object(where + ", header")) {
    if (name == "__metadata__") {
      for (const auto& [k, v] : j.as_object(where + ", __metadata__"))
        metadata_[k] = v.as_string(where + ", __metadata__ " + k);
      continue;
    }
    std::string what = fmt::format("{}, tensor '{}'", where, name);
    if (!entries_.emplace(name, parse_entry(j, what, data_at, bytes.size())).second) fail("{}: listed twice", what);
  }
  std::vector<std::pair<size_t, size_t>> spans;
  for (const auto& [name, e] : entries_)
    if (e.end > e.begin) spans.emplace_back(e.begin, e.end);
  std::sort(spans.begin(), spans.end());
  for (size_t i = 1; i < spans.size(); ++i)
    if (spans[i].first < spans[i - 1].second)
      fail("{}: data_offsets of two tensors overlap at byte {}", where, spans[i].first);
}

const std::filesystem::path& SafetensorsFile::path() const { return file_->path(); }

Tensor SafetensorsFile::tensor(const std::string& name) const {
  auto it = entries_.find(name);
  if (it == entries_.end()) fail("{}: tensor '{}' is missing", path().string(), name);
  const Entry& e = it->second;
  const std::byte* p = file_->bytes().data() + e.begin;
  if (reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(dtype_size(e.dtype)) == 0)
    return Tensor::external(p, e.shape, e.dtype, file_);
  Tensor t = Tensor::empty(e.shape, e.dtype);
  std::memcpy(t.raw(), p, e.end - e.begin);
  return t;
}

void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) {
    Json m = Json::object();
    for (const auto& [k, v] : metadata) m.set(k, v);
    header.set("__metadata__", m);
  }
  int64_t at = 0;
  for (const auto& [name, t] : tensors) {
    Json e = Json::object(), shape = Json::array(), off = Json::array();
    for (int64_t d : t.shape()) shape.push(d);
    off.push(at);
    off.push(at + t.bytes());
    at += t.bytes();
    e.set("dtype", safetensors_name(t.dtype()));
    e.set("shape", shape);
    e.set("data_offsets", off);
    header.members().emplace_back(name, std::move(e));
  }
  std::string h = header.dump();
  h.append((64 - (8 + h.size()) % 64) % 64, ' ');  // data starts aligned for any element type

  std::filesystem::path part = path;
  part += fmt::format(".part{}", ::getpid());
  FILE* f = std::fopen(part.c_str(), "wb");
  if (!f) fail("cannot write {}: {}", path.string(), std::strerror(errno));
  uint64_t n = h.size();
  bool ok = std::fwrite(&n, 8, 1, f) == 1 && std::fwrite(h.data(), 1, h.size(), f) == h.size();
  for (const auto& [name, t] : tensors) {
    Tensor c = t.contiguous_copy_if_needed();
    ok = ok && std::fwrite(c.raw(), 1, static_cast<size_t>(c.bytes()), f) == static_cast<size_t>(c.bytes());
  }
  ok = std::fclose(f) == 0 && ok;
  if (!ok || std::rename(part.c_str(), path.c_str()) != 0) {
    int e = errno;
    std::remove(part.c_str());
    fail("cannot write {}: {}", path.string(), std::strerror(e));
  }
}

void save_tensor_folder(const std::filesystem::path& folder, const NamedTensors& tensors, int64_t shard_bytes) {
  std::filesystem::create_directories(folder);
  std::vector<NamedTensors> shards(1);
  int64_t used = 0, total = 0;
  for (const auto& nt : tensors) {
    if (used > 0 && used + nt.second.bytes() > shard_bytes) shards.emplace_back(), used = 0;
    shards.back().push_back(nt);
    used += nt.second.bytes();
    total += nt.second.bytes();
  }
  std::filesystem::path index = folder / "model.safetensors.index.json", one = folder / "model.safetensors";
  std::map<std::string, std::string> meta{{"format", "pt"}};
  if (shards.size() == 1) {
    save_safetensors(one, shards[0], meta);
    std::filesystem::remove(index);
    return;
  }
  Json map = Json::object(), j = Json::object(), m = Json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string file = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    save_safetensors(folder / file, shards[i], meta);
    for (const auto& [name, t] : shards[i]) map.members().emplace_back(name, file);
  }
  m.set("total_size", total);
  j.set("metadata", m);
  j.set("weight_map", map);
  write_file(index, j.dump(2) + "\n");
  std::filesystem::remove(one);
}

}  // namespace quern

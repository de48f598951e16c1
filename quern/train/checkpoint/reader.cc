#include "quern/train/checkpoint/reader.h"

#include <algorithm>
#include <mutex>

#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/train/checkpoint/crc.h"

namespace quern::train {
namespace {

int64_t chunk_bytes(const StoredTensor& t, const StoredChunk& c) { return c.piece.size() * dtype_size(t.dtype); }

// Runs f(i) on all threads; what one of them throws is thrown here.
template <class F>
void each_checked(int64_t n, F&& f) {
  std::mutex mutex;
  std::string error;
  parallel_dynamic(n, [&](int64_t i) {
    try {
      f(i);
    } catch (const std::exception& e) {
      const std::lock_guard lock(mutex);
      if (error.empty()) error = e.what();
    }
  });
  if (!error.empty()) throw Error(error);
}

}  // namespace

CheckpointReader::CheckpointReader(const std::filesystem::path& step_folder)
    : folder_(step_folder), commit_(read_commit(step_folder)) {
  const std::filesystem::path path = folder_ / "index.json";
  const std::string where = path.string(), text = read_file(path);
  if (static_cast<int64_t>(text.size()) != commit_.index_bytes)
    fail("{}: {} bytes, COMMIT.json says {}", where, text.size(), commit_.index_bytes);
  if (crc32c(std::as_bytes(std::span(text))) != commit_.index_crc)
    fail("{}: its checksum is not the one in COMMIT.json: the file is damaged", where);
  const Json index = Json::parse(text, where);
  state_ = index.at("state", where);
  for (const Json& j : index.at("tensors", where).as_array(where + ", tensors")) {
    tensors_.push_back(parse_stored_tensor(j, where));
    const StoredTensor& t = tensors_.back();
    if (!place_.emplace(std::pair(t.name, t.role), tensors_.size() - 1).second)
      fail("{}: tensor '{}' ({}) is listed twice", where, t.name, t.role);
    good_.push_back(std::make_unique<std::atomic<bool>[]>(t.chunks.size()));
  }
  for (const auto& [name, bytes] : commit_.files) open_file(name, bytes);
  for (const StoredTensor& t : tensors_)
    for (const StoredChunk& c : t.chunks) {
      const auto file = files_.find(c.file);
      if (file == files_.end())
        fail("{}, tensor '{}' ({}): file '{}' is not listed in COMMIT.json", where, t.name, t.role, c.file);
      const auto size = static_cast<int64_t>(file->second->bytes().size());
      if (c.offset % dtype_size(t.dtype) != 0 || c.offset > size || chunk_bytes(t, c) > size - c.offset)
        fail("{}, tensor '{}' ({}): a chunk of {} bytes at {} is not in {} of {} bytes", where, t.name, t.role,
             chunk_bytes(t, c), c.offset, c.file, size);
    }
}

CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;

std::string CheckpointReader::holders(const std::string& file) const {
  std::string first;
  int64_t more = 0;
  for (const StoredTensor& t : tensors_) {
    if (std::none_of(t.chunks.begin(), t.chunks.end(), [&](const StoredChunk& c) { return c.file == file; }))
      continue;
    if (first.empty())
      first = fmt::format("tensor '{}' ({})", t.name, t.role);
    else
      ++more;
  }
  return first.empty() ? "no tensor" : more == 0 ? first : fmt::format("{} and {} more", first, more);
}

void CheckpointReader::open_file(const std::string& name, int64_t bytes) {
  const std::filesystem::path path = folder_ / name;
  if (!std::filesystem::exists(path)) fail("{} is missing; it held {}", path.string(), holders(name));
  auto file = std::make_unique<MappedFile>(path);
  const auto found = static_cast<int64_t>(file->bytes().size());
  if (found != bytes)
    fail("{}: {} bytes, COMMIT.json says {} ({}); it holds {}", path.string(), found, bytes,
         found < bytes ? "truncated" : "too long", holders(name));
  files_[name] = std::move(file);
}

const StoredTensor* CheckpointReader::find(const std::string& name, const std::string& role) const {
  const auto it = place_.find({name, role});
  return it == place_.end() ? nullptr : &tensors_[it->second];
}

const StoredTensor& CheckpointReader::at(const std::string& name, const std::string& role) const {
  if (const StoredTensor* t = find(name, role)) return *t;
  fail("{}: there is no tensor '{}' ({})", folder_.string(), name, role);
}

const std::byte* CheckpointReader::checked(const StoredTensor& t, size_t chunk) const {
  const StoredChunk& c = t.chunks[chunk];
  const auto bytes =
      files_.at(c.file)->bytes().subspan(static_cast<size_t>(c.offset), static_cast<size_t>(chunk_bytes(t, c)));
  std::atomic<bool>& good = good_[static_cast<size_t>(&t - tensors_.data())][chunk];
  if (!good.load(std::memory_order_acquire)) {
    if (const uint32_t found = crc32c(bytes); found != c.crc)
      fail("{}: damaged at bytes {}…{}: tensor '{}' ({}), {}: checksum {:08x}, expected {:08x}",
           (folder_ / c.file).string(), c.offset, c.offset + chunk_bytes(t, c), t.name, t.role, to_string(c.piece),
           found, c.crc);
    good.store(true, std::memory_order_release);
  }
  return bytes.data();
}

void CheckpointReader::read_into(const StoredTensor& t, const Piece& piece, std::span<std::byte> out) const {
  QUERN_CHECK(piece_complaint(piece, t.shape).empty(), "{}: {}", t.name, piece_complaint(piece, t.shape));
  QUERN_CHECK(static_cast<int64_t>(out.size()) == piece.size() * dtype_size(t.dtype));
  std::vector<size_t> touched;
  for (size_t i = 0; i < t.chunks.size(); ++i)
    if (pieces_meet(t.shape, piece, t.chunks[i].piece)) touched.push_back(i);
  std::atomic<int64_t> copied = 0;
  each_checked(static_cast<int64_t>(touched.size()), [&](int64_t i) {
    const size_t chunk = touched[static_cast<size_t>(i)];
    copied += copy_common(t.shape, piece, out.data(), t.chunks[chunk].piece, checked(t, chunk), dtype_size(t.dtype));
  });
  if (copied != piece.size())
    fail("{}: tensor '{}' ({}): its chunks hold {} of the {} elements of {}", folder_.string(), t.name, t.role,
         copied.load(), piece.size(), to_string(piece));
}

Tensor CheckpointReader::read(const std::string& name, const std::string& role, const Piece& piece) const {
  const StoredTensor& t = at(name, role);
  if (std::string wrong = piece_complaint(piece, t.shape); !wrong.empty())
    fail("{}: tensor '{}' ({}): asked for {}", folder_.string(), name, role, wrong);
  Tensor out = Tensor::empty(piece.is_box() ? piece.shape : Shape{piece.size()}, t.dtype);
  read_into(t, piece, {static_cast<std::byte*>(out.raw()), static_cast<size_t>(out.bytes())});
  return out;
}

Tensor CheckpointReader::read(const std::string& name, const std::string& role) const {
  return read(name, role, Piece::whole(at(name, role).shape));
}

void CheckpointReader::verify() const {
  for (const StoredTensor& t : tensors_)
    each_checked(static_cast<int64_t>(t.chunks.size()), [&](int64_t i) { checked(t, static_cast<size_t>(i)); });
}

}  // namespace quern::train

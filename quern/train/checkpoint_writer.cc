#include "quern/train/checkpoint_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <random>

#include "quern/base/threads.h"
#include "quern/train/checkpoint_crc.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string data_name(int rank) { return fmt::format("rank_{}.bin", rank); }
std::string manifest_name(int rank) { return fmt::format("rank_{}.json", rank); }

int64_t align_up(int64_t n) { return (n + kCheckpointAlign - 1) / kCheckpointAlign * kCheckpointAlign; }

int64_t chunk_bytes(const StoredTensor& t, const StoredChunk& c) { return c.piece.size() * dtype_size(t.dtype); }

// A file that is written from the front; every failure names it.
class DataFile {
 public:
  explicit DataFile(fs::path path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) failed();
  }
  ~DataFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;
  void write(const std::byte* x, int64_t n, int64_t at) {
    while (n > 0) {
      const ssize_t w = ::pwrite(fd_, x, static_cast<size_t>(n), at);
      if (w < 0 && errno == EINTR) continue;
      if (w <= 0) failed();
      x += w, n -= w, at += w;
    }
  }
  void close() {
    if (::fsync(fd_) != 0) failed();
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0) failed();
  }

 private:
  [[noreturn]] void failed() const { fail("cannot write {}: {}", path_.string(), std::strerror(errno)); }
  fs::path path_;
  int fd_ = -1;
};

struct Manifest {
  int64_t bytes = 0;  // of the data file
  std::vector<StoredTensor> tensors;
};

std::string dump_manifest(const std::string& id, int64_t bytes, const std::vector<StoredTensor>& tensors) {
  Json j = Json::object(), list = Json::array();
  j.set("save", id), j.set("bytes", bytes);
  for (const StoredTensor& t : tensors) list.push(to_json(t));
  j.set("tensors", std::move(list));
  return j.dump();
}

// Empty when it is not there, or another save's.
std::optional<Manifest> read_manifest(const fs::path& path, const std::string& id) {
  if (!fs::exists(path)) return std::nullopt;
  const std::string where = path.string();
  const Json j = Json::read(path);
  if (j.at("save", where).as_string(where + ", save") != id) return std::nullopt;
  Manifest m;
  m.bytes = j.at("bytes", where).as_int(where + ", bytes");
  for (const Json& t : j.at("tensors", where).as_array(where + ", tensors"))
    m.tensors.push_back(parse_stored_tensor(t, where));
  return m;
}

std::string index_text(const std::vector<StoredTensor>& tensors, const std::string& state) {
  Json j = Json::object(), list = Json::array();
  for (const StoredTensor& t : tensors) list.push(to_json(t));
  j.set("tensors", std::move(list));
  j.set("state", Json::parse(state, "state"));
  return j.dump(1) + "\n";
}

// Every rank's chunks of a tensor together, in order of rank; checks that they agree and cover it once.
std::vector<StoredTensor> merge(std::vector<Manifest>& ranks) {
  std::vector<StoredTensor> all;
  std::map<std::pair<std::string, std::string>, size_t> place;
  for (size_t r = 0; r < ranks.size(); ++r)
    for (StoredTensor& t : ranks[r].tensors) {
      const auto [it, fresh] = place.emplace(std::pair(t.name, t.role), all.size());
      if (fresh) {
        all.push_back(std::move(t));
        continue;
      }
      StoredTensor& known = all[it->second];
      if (known.shape != t.shape || known.dtype != t.dtype)
        fail("tensor '{}' ({}): {} {} on one rank, {} {} on rank {}", t.name, t.role, dtype_name(known.dtype),
             to_string(known.shape), dtype_name(t.dtype), to_string(t.shape), r);
      std::move(t.chunks.begin(), t.chunks.end(), std::back_inserter(known.chunks));
    }
  for (const StoredTensor& t : all) {
    int64_t held = 0;
    for (const StoredChunk& c : t.chunks) held += c.piece.size();
    if (held != element_count(t.shape))
      fail("tensor '{}' ({}): the ranks' pieces hold {} elements, the tensor {} has {}", t.name, t.role, held,
           to_string(t.shape), element_count(t.shape));
  }
  return all;
}

}  // namespace

TensorPiece whole_piece(std::string name, std::string role, const Tensor& t) {
  return {std::move(name), std::move(role), t.shape(), Piece::whole(t.shape()), t};
}

TensorPiece flat_share(std::string name, std::string role, const Tensor& t, const Communicator& comm) {
  const Cut c = even_cut(t.size(), comm.size(), comm.rank());
  return {std::move(name), std::move(role), t.shape(), Piece::flat(t.shape(), c.begin, c.end),
          t.reshape({t.size()}).narrow(0, c.begin, c.end - c.begin)};
}

CheckpointWriter::CheckpointWriter(Communicator& comm, fs::path dir, CheckpointOptions options)
    : comm_(comm), dir_(std::move(dir)), options_(options) {
  if (options_.keep < 1) fail("checkpoint.keep = {}: expected at least 1", options_.keep);
  QUERN_CHECK(options_.chunk_bytes >= 8);
}

CheckpointWriter::~CheckpointWriter() = default;  // the thread is stopped and joined first: it is the last member

void CheckpointWriter::save(int64_t step, std::span<const TensorPiece> pieces, const Json& state) {
  wait();
  begin(step);
  stage(pieces);
  state_ = state.dump();
  written_ = false;
  write_error_.clear(), commit_error_.clear();
  active_ = true;
  thread_ = std::jthread([this](std::stop_token stop) { work(stop); });
}

// Rank 0 makes the folder; all learn its name.
void CheckpointWriter::begin(int64_t step) {
  std::string said, error;
  if (comm_.rank() == 0) {
    try {
      int64_t generation = 1;
      for (const StepFolder& f : step_folders(dir_))
        if (f.step == step) {
          if (f.committed)
            generation = std::max(generation, f.generation + 1);
          else
            remove_step_folder(f.path);
        }
      const fs::path folder =
          dir_ / (generation == 1 ? fmt::format("step_{}", step) : fmt::format("step_{}.{}", step, generation));
      fs::create_directories(folder);
      said = folder.string();
    } catch (const std::exception& e) {
      error = fmt::format("cannot begin a checkpoint in {}: {}", dir_.string(), e.what());
    }
  }
  error = comm_.broadcast_text(error);
  if (!error.empty()) throw Error(error);
  folder_ = comm_.broadcast_text(said);
  std::random_device random;
  id_ = comm_.broadcast_text(fmt::format("{:08x}{:08x}", random(), random()));
  step_ = step;
}

void CheckpointWriter::stage(std::span<const TensorPiece> pieces) {
  struct Copy {
    const std::byte* from;
    int64_t to, bytes;
  };
  std::vector<Copy> copies;
  tensors_.clear();
  int64_t at = 0;
  for (const TensorPiece& p : pieces) {
    const std::string wrong = piece_complaint(p.piece, p.shape);
    QUERN_CHECK(wrong.empty() && p.data.contiguous() && p.data.size() == p.piece.size(), "{} ({}): {}, {} elements",
                p.name, p.role, wrong, p.data.size());
    StoredTensor t{p.name, p.role, p.data.dtype(), p.shape, {}};
    const int64_t element = dtype_size(t.dtype), step = std::max<int64_t>(1, options_.chunk_bytes / element);
    if (p.piece.size() > 0) at = align_up(at);
    for (int64_t i = 0; i < p.piece.size(); i += step) {
      StoredChunk c{data_name(comm_.rank()), at, p.piece, 0};
      c.piece.begin = p.piece.begin + i;
      c.piece.end = std::min(p.piece.end, c.piece.begin + step);
      copies.push_back({static_cast<const std::byte*>(p.data.raw()) + i * element, at, chunk_bytes(t, c)});
      at += copies.back().bytes;
      t.chunks.push_back(std::move(c));
    }
    tensors_.push_back(std::move(t));
  }
  file_bytes_ = at;
  if (!staging_.defined() || staging_.size() < at) {
    staging_ = Tensor();  // before its successor is taken
    staging_ = Tensor::empty({at}, DType::u8);
  }
  auto* base = static_cast<std::byte*>(staging_.raw());
  parallel_dynamic(static_cast<int64_t>(copies.size()), [&](int64_t i) {
    const Copy& c = copies[static_cast<size_t>(i)];
    std::memcpy(base + c.to, c.from, static_cast<size_t>(c.bytes));
  });
}

void CheckpointWriter::work(std::stop_token stop) {
  std::string error;
  try {
    write_data(stop);
  } catch (const std::exception& e) {
    error = e.what();
  }
  {
    const std::lock_guard lock(mutex_);
    write_error_ = error;
    written_ = true;
  }
  changed_.notify_all();
  if (!error.empty() || comm_.rank() != 0) return;
  try {
    commit(stop);
  } catch (const std::exception& e) {
    error = e.what();
  }
  const std::lock_guard lock(mutex_);
  commit_error_ = error;
}

void CheckpointWriter::write_data(std::stop_token stop) {
  const auto* base = static_cast<const std::byte*>(staging_.raw());
  DataFile file(folder_ / data_name(comm_.rank()));
  for (StoredTensor& t : tensors_)
    for (StoredChunk& c : t.chunks) {
      if (stop.stop_requested()) fail("the save was abandoned");
      const int64_t n = chunk_bytes(t, c);
      c.crc = crc32c({base + c.offset, static_cast<size_t>(n)});
      file.write(base + c.offset, n, c.offset);
    }
  file.close();
  write_durably(folder_ / manifest_name(comm_.rank()), dump_manifest(id_, file_bytes_, tensors_));
}

void CheckpointWriter::commit(std::stop_token stop) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Manifest> manifests;
  CheckpointCommit c;
  c.step = step_, c.save = id_;
  auto pause = std::chrono::milliseconds(1);
  while (static_cast<int>(manifests.size()) < comm_.size()) {
    const int r = static_cast<int>(manifests.size());
    if (std::optional<Manifest> m = read_manifest(folder_ / manifest_name(r), id_)) {
      const fs::path data = folder_ / data_name(r);
      const auto found = static_cast<int64_t>(fs::file_size(data));
      if (found != m->bytes) fail("{}: {} bytes on disk, its manifest says {}", data.string(), found, m->bytes);
      c.files.emplace_back(data_name(r), m->bytes);
      manifests.push_back(std::move(*m));
      continue;
    }
    if (stop.stop_requested()) fail("the save was abandoned");
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > options_.timeout_s)
      fail("{}: rank {} has not finished its file after {} s", folder_.string(), r, options_.timeout_s);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(100));
  }
  const std::string index = index_text(merge(manifests), state_);
  c.index_bytes = static_cast<int64_t>(index.size());
  c.index_crc = crc32c(std::as_bytes(std::span(index)));
  write_durably(folder_ / "index.json", index);
  sync_folder(dir_);
  write_durably(folder_ / "COMMIT.json", to_json(c).dump(1) + "\n");
  try {
    prune();
  } catch (const std::exception& e) {
    fail("it is saved, but an earlier one is in the way: {}", e.what());
  }
}

// Beyond the newest `keep`: gone. So are earlier folders that were never committed.
void CheckpointWriter::prune() const {
  int64_t seen = 0;
  bool newer_committed = false;
  for (const StepFolder& f : step_folders(dir_)) {
    const bool remove = f.committed ? ++seen > options_.keep : newer_committed;
    newer_committed = newer_committed || f.committed;
    if (remove && f.path != folder_) remove_step_folder(f.path);
  }
}

void CheckpointWriter::wait() {
  if (!active_) return;
  active_ = false;
  std::string mine;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return written_; });
    mine = write_error_;
  }
  if (comm_.rank() != 0) thread_.join();
  std::string error;
  const std::vector<std::string> said = comm_.all_gather_text(mine);
  for (size_t r = 0; r < said.size() && error.empty(); ++r)
    if (!said[r].empty()) error = said.size() == 1 ? said[r] : fmt::format("rank {}: {}", r, said[r]);
  if (comm_.rank() == 0) {
    if (!error.empty()) thread_.request_stop();
    thread_.join();
    if (error.empty()) error = commit_error_;
    std::error_code ignored;
    if (!error.empty() && !fs::exists(folder_ / "COMMIT.json", ignored)) fs::remove_all(folder_, ignored);
  }
  error = comm_.broadcast_text(error);
  if (!error.empty()) fail("checkpoint of step {}: {}", step_, error);
}

}  // namespace quern

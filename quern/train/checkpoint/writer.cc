#include "quern/train/checkpoint/writer.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "quern/base/threads.h"
#include "quern/trace/thread_names.h"
#include "quern/train/checkpoint/copy.h"
#include "quern/train/checkpoint/crc.h"
#include "quern/train/checkpoint/file.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

std::string manifest_name(int rank) { return fmt::format("rank_{}.json", rank); }

int64_t chunk_bytes(const StoredTensor& t, const StoredChunk& c) { return c.piece.size() * dtype_size(t.dtype); }

constexpr int64_t kCopyBytes = int64_t{2} << 20;  // a thread's turn

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

TensorPiece flat_share(std::string name, std::string role, const Tensor& t, const comm::Communicator& comm) {
  const comm::Range c = comm::even_range(t.size(), comm.size(), comm.rank());
  return {std::move(name), std::move(role), t.shape(), Piece::flat(t.shape(), c.begin, c.end),
          t.reshape({t.size()}).narrow(0, c.begin, c.end - c.begin)};
}

CheckpointWriter::CheckpointWriter(comm::Communicator& comm, fs::path dir, CheckpointOptions options)
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
      said = make_step_folder(dir_, step).string();
    } catch (const std::exception& e) {
      error = fmt::format("cannot begin a checkpoint in {}: {}", dir_.string(), e.what());
    }
  }
  error = comm_.broadcast_text(error);
  if (!error.empty()) throw Error(error);
  folder_ = comm_.broadcast_text(said);
  id_ = comm_.broadcast_text(new_save_id());
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
    for (int64_t i = 0; i < p.data.bytes(); i += kCopyBytes)
      copies.push_back(
          {static_cast<const std::byte*>(p.data.raw()) + i, at + i, std::min(kCopyBytes, p.data.bytes() - i)});
    for (int64_t i = 0; i < p.piece.size(); i += step) {
      StoredChunk c{data_name(comm_.rank()), at, p.piece, 0};
      c.piece.begin = p.piece.begin + i;
      c.piece.end = std::min(p.piece.end, c.piece.begin + step);
      at += chunk_bytes(t, c);
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
    copy_past_cache(base + c.to, c.from, c.bytes);
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
  if (trace::recording()) trace::name_thread("checkpoint writer");
  trace::Span span(trace::Kind::part, "checkpoint write");
  span.count(0, static_cast<double>(file_bytes_));
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
  DataSizes files;
  auto pause = std::chrono::milliseconds(1);
  while (static_cast<int>(manifests.size()) < comm_.size()) {
    const int r = static_cast<int>(manifests.size());
    if (std::optional<Manifest> m = read_manifest(folder_ / manifest_name(r), id_)) {
      const fs::path data = folder_ / data_name(r);
      const auto found = static_cast<int64_t>(fs::file_size(data));
      if (found != m->bytes) fail("{}: {} bytes on disk, its manifest says {}", data.string(), found, m->bytes);
      files.emplace_back(data_name(r), m->bytes);
      manifests.push_back(std::move(*m));
      continue;
    }
    if (stop.stop_requested()) fail("the save was abandoned");
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > options_.timeout_s)
      fail("{}: rank {} has not finished its file after {} s", folder_.string(), r, options_.timeout_s);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(100));
  }
  commit_step_folder(folder_, {.step = step_, .save = id_, .files = std::move(files)}, merge(manifests),
                     Json::parse(state_, "state"));
  try {
    prune();
  } catch (const std::exception& e) {
    fail("saved, but an earlier checkpoint could not be removed: {}", e.what());
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

}  // namespace quern::train

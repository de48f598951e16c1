#include "quern/train/reshape/reshape.h"

#include <algorithm>

#include "quern/base/toml.h"
#include "quern/comm/communicator.h"
#include "quern/train/checkpoint/crc.h"
#include "quern/train/checkpoint/file.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

fs::path source_folder(const fs::path& from) {
  if (fs::exists(from / "COMMIT.json")) return from;
  if (const auto newest = latest_committed(from)) return *newest;
  fail("{} holds no committed checkpoint (a folder step_N with a COMMIT.json)", from.string());
}

int64_t bytes_of(const TensorSource& s) { return element_count(s.shape()) * s.element(); }

// One rank's file: its even share of every tensor.
class ShareWriter {
 public:
  ShareWriter(const fs::path& folder, int rank, int ranks, const ReshapeOptions& o)
      : name_(data_name(rank)), file_(folder / name_), rank_(rank), ranks_(ranks), options_(o) {}

  void write(const TensorSource& source, StoredTensor& t, const std::function<void(int64_t)>& wrote) {
    const comm::Range cut = comm::even_range(element_count(t.shape), ranks_, rank_);
    if (cut.begin < cut.end) at_ = align_up(at_);
    const int64_t element = source.element(), step = std::max<int64_t>(1, options_.chunk_bytes / element);
    for (int64_t i = cut.begin; i < cut.end; i += step) {
      StoredChunk c{name_, at_, Piece::flat(t.shape, i, std::min(cut.end, i + step)), 0};
      const int64_t bytes = c.piece.size() * element;
      buffer_.resize(static_cast<size_t>(bytes));
      std::byte* out = buffer_.data();
      for (const Piece& box : boxes_of(c.piece)) {
        source.read(box.offset, box.shape, out);
        out += box.size() * element;
      }
      c.crc = crc32c(buffer_);
      file_.write(buffer_.data(), bytes, at_);
      at_ += bytes;
      t.chunks.push_back(std::move(c));
      wrote(bytes);
    }
  }
  std::pair<std::string, int64_t> close() {
    file_.close();
    return {name_, at_};
  }

 private:
  std::string name_;
  DataFile file_;
  int rank_, ranks_;
  const ReshapeOptions& options_;
  int64_t at_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

LogicalTensors logical_tensors(const std::shared_ptr<const CheckpointReader>& reader) {
  LogicalTensors out;
  for (const StoredTensor& t : reader->tensors()) out.push_back({t.name, t.role, stored(reader, t)});
  return out;
}

ReshapeReport reshape(const nn::Registry& registry, const fs::path& from, const fs::path& to,
                      const ReshapeOptions& options) {
  if (options.ranks < 1 || options.ranks > 1000000) fail("ranks {}: expected 1 to 1000000", options.ranks);
  const auto reader = std::make_shared<const CheckpointReader>(source_folder(from));
  LogicalTensors tensors = logical_tensors(reader);
  ReshapeReport r;
  r.from = reader->folder(), r.step = reader->step();
  r.tensors_in = static_cast<int64_t>(tensors.size());
  for (const LogicalTensor& t : tensors) r.bytes_in += bytes_of(*t.source);
  if (!options.rewrite.empty()) {
    const std::string where = options.rewrite.string();
    const Json file = read_toml(options.rewrite);
    for (const auto& [key, value] : file.as_object(where))
      if (key != "rewrite") fail("{}: unknown key '{}': expected [[rewrite]] tables", where, key);
    rewrite(tensors, file.at("rewrite", where), registry, where);
  }
  std::vector<StoredTensor> stored;
  for (const LogicalTensor& t : tensors) {
    stored.push_back({t.name, t.role, t.source->dtype(), t.source->shape(), {}});
    r.bytes_out += bytes_of(*t.source);
  }
  r.tensors_out = static_cast<int64_t>(tensors.size());
  r.to = make_step_folder(to, r.step);
  try {
    DataSizes files;
    int64_t done = 0;
    const auto wrote = [&](int64_t bytes) {
      done += bytes;
      if (options.progress) options.progress(done, r.bytes_out);
    };
    const int ranks = static_cast<int>(options.ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      ShareWriter share(r.to, rank, ranks, options);
      for (size_t i = 0; i < tensors.size(); ++i) share.write(*tensors[i].source, stored[i], wrote);
      files.push_back(share.close());
    }
    commit_step_folder(r.to, {.step = r.step, .save = new_save_id(), .files = std::move(files)}, stored,
                       reader->state());
  } catch (...) {
    std::error_code ignored;
    if (!fs::exists(r.to / "COMMIT.json", ignored)) fs::remove_all(r.to, ignored);
    throw;
  }
  return r;
}

}  // namespace quern::train

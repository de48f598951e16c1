// CheckpointWriter: asynchronous checkpointing. save() copies its arguments (the only stall) and returns; a background
// thread writes, syncs and, on rank 0, commits once every rank's file is on disk.
//
//   staging → writing → written (every rank) → committed (rank 0: one rename) → prunable
//
// An error on the way (a full disk, for example) is thrown on all ranks by the next save() or wait(), naming rank and
// file; the failed folder is removed, earlier checkpoints stay, and the writer can be used again. Every element of
// every tensor must be given exactly once, by whichever rank holds it; the commit checks that.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "quern/base/json.h"
#include "quern/comm/communicator.h"
#include "quern/train/checkpoint/format.h"

namespace quern::train {

struct TensorPiece {
  std::string name, role;
  Shape shape;  // of the logical tensor
  Piece piece;  // what of it `data` holds; may be empty
  Tensor data;  // piece.size() elements, contiguous
};
TensorPiece whole_piece(std::string name, std::string role, const Tensor& t);
// This rank's even share of the flattened tensor: `data` holds the whole.
TensorPiece flat_share(std::string name, std::string role, const Tensor& t, const comm::Communicator& comm);

struct CheckpointOptions {
  int64_t keep = 3;                         // committed checkpoints that stay; the newest always does
  int64_t chunk_bytes = int64_t{16} << 20;  // one checksum each
  double timeout_s = 1800;                  // rank 0 waits so long for the others' files
};

class CheckpointWriter {
 public:
  CheckpointWriter(comm::Communicator& comm, std::filesystem::path dir, CheckpointOptions options = {});
  ~CheckpointWriter();  // without wait(): what is not committed by then is abandoned

  // Collective. Waits for the previous save, and throws what went wrong with it. `state` is rank 0's.
  void save(int64_t step, std::span<const TensorPiece> pieces, const Json& state);
  void wait();  // collective: until the save is committed
  bool busy() const { return active_; }
  const std::filesystem::path& folder() const { return folder_; }  // of the last save

 private:
  void begin(int64_t step);
  void stage(std::span<const TensorPiece> pieces);
  void work(std::stop_token stop);
  void write_data(std::stop_token stop);
  void commit(std::stop_token stop);
  void prune() const;

  comm::Communicator& comm_;
  const std::filesystem::path dir_;
  const CheckpointOptions options_;

  // One save. The thread owns these between save() and wait().
  std::filesystem::path folder_;
  int64_t step_ = 0;
  std::string id_, state_;
  std::vector<StoredTensor> tensors_;
  Tensor staging_;  // kept: first touch of memory costs more than the copy
  int64_t file_bytes_ = 0;

  bool active_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool written_ = false;  // this rank's part
  std::string write_error_, commit_error_;
  std::jthread thread_;
};

}  // namespace quern::train

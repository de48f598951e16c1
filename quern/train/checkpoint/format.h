// On-disk format of a checkpoint (docs/checkpoints.md has it byte by byte):
//
//   DIR/step_N/rank_R.bin     elements, little-endian; every piece begins at a multiple of 4 KiB
//   DIR/step_N/rank_R.json    what rank R wrote
//   DIR/step_N/index.json     logical tensors, their chunks, and the caller's `state`
//   DIR/step_N/COMMIT.json    written last, by rename: without it the folder is ignored
//
// A step that is saved again gets the folder step_N.2, step_N.3, …; a committed folder is never written to.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/train/checkpoint/piece.h"

namespace quern::train {

struct StoredChunk {
  std::string file;
  int64_t offset = 0;  // in the file
  Piece piece;
  uint32_t crc = 0;
};

struct StoredTensor {
  std::string name, role;  // role: weight, master, or an optimizer's part: m, v, muon_m, step
  DType dtype = DType::f32;
  Shape shape;
  std::vector<StoredChunk> chunks;
};

constexpr int64_t kCheckpointAlign = 4096;

Json to_json(const StoredTensor& t);
// Every field is checked; `where` names the source in messages.
StoredTensor parse_stored_tensor(const Json& j, const std::string& where);

struct CheckpointCommit {
  int64_t step = 0;
  std::string save;  // the same in every file of one save
  int64_t index_bytes = 0;
  uint32_t index_crc = 0;
  std::vector<std::pair<std::string, int64_t>> files;  // data files and their sizes
};
Json to_json(const CheckpointCommit& c);
CheckpointCommit read_commit(const std::filesystem::path& step_folder);  // throws Error when there is none

struct StepFolder {
  int64_t step = 0, generation = 1;
  std::filesystem::path path;
  bool committed = false;
};
std::vector<StepFolder> step_folders(const std::filesystem::path& dir);                   // newest first
std::optional<std::filesystem::path> latest_committed(const std::filesystem::path& dir);  // newest step folder
// Committed steps after `step` are given up (a run that was rolled back goes on from there).
void discard_newer(const std::filesystem::path& dir, int64_t step);

// Small files that must survive a power cut: written beside, synced, renamed, folder synced.
void write_durably(const std::filesystem::path& file, std::string_view content);
void sync_folder(const std::filesystem::path& folder);
// Takes the commit away first: what is half deleted is not committed.
void remove_step_folder(const std::filesystem::path& folder);

}  // namespace quern::train

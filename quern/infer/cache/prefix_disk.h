// The prefix cache on disk: what the cache in memory learns is written behind it, survives restarts, and is read again
// when a request goes deeper there than in memory. A thread of its own writes; a file appears whole or not at all
// (written beside and renamed), so that a process that is killed leaves a cache that can be used. Damaged files are
// reported and dropped. Over the budget, folders of other identities go first, then the pieces at the ends of texts that
// were used longest ago.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "quern/infer/cache/cache_folder.h"
#include "quern/infer/cache/piece_index.h"
#include "quern/mixers/state.h"

namespace quern::infer {

struct PrefixDiskOptions {
  std::filesystem::path folder = {};  // empty: nothing is kept on disk
  int64_t bytes = int64_t{8} << 30;   // budget for the files of all identities that no other process uses
  CacheIdentity identity = {};        // what states depend on, as far as the caller knows: model, weights, version
  std::function<void(const std::string&)> say = {};  // one line of news or warning; may be called from another thread
  bool on() const { return !folder.empty(); }
};

// Rows that are in memory in one piece, so that they need not be copied to be written.
struct SharedRows {
  int64_t begin = 0;  // position of the first
  const std::vector<Tensor>* parts = nullptr;
};

class PrefixDisk {
 public:
  // Null where another process uses this identity's folder, which is said.
  static std::unique_ptr<PrefixDisk> open(PrefixDiskOptions options, const std::vector<mixers::StateSite>& sites);
  ~PrefixDisk();  // writes what is queued
  PrefixDisk(const PrefixDisk&) = delete;
  PrefixDisk& operator=(const PrefixDisk&) = delete;

  // The deepest position ≤ limit, a multiple of `aligned`, that a state could resume at from here; 0: none.
  int64_t reach(const PrefixText& text, int64_t limit, int64_t aligned);
  // Appends rows [from, to) and sets the recurrent state after `to` tokens, which reach() gave; `before` appends the rows
  // below `from`, and the caller advances the state. False: a file was damaged or is gone, which is said; the state is
  // untouched.
  bool restore(const PrefixText& text, int64_t from, int64_t to, mixers::SequenceState& state,
               const std::function<void()>& before);
  // Queues what is not there yet of the text: rows, and the recurrent state after its last token, which is shared.
  void store(const PrefixText& text, const mixers::SequenceState& rows, const SharedRows& shared,
             const std::vector<Tensor>& fixed);
  void touch(const PrefixText& text);  // it was used
  void finish();                       // returns when everything queued is written

  struct Counts {
    int64_t bytes = 0, budget = 0, pieces = 0, tokens = 0;
    int64_t read_tokens = 0;  // taken from files since the start
    int64_t skipped = 0;      // texts not written because the disk was too slow
  };
  Counts counts() const;
  std::vector<CacheEdge> edges() const;

 private:
  enum class Write { rows, snapshot, time };
  struct Job {
    Write what;
    std::string piece;
    int64_t position = 0;  // of a snapshot
    std::vector<Tensor> tensors = {};
    int64_t bytes = 0;
  };
  PrefixDisk(PrefixDiskOptions options, std::unique_ptr<CacheFolder> folder,
             const std::vector<mixers::StateSite>& sites);
  std::filesystem::path rows_file(const std::string& piece) const;
  std::filesystem::path snapshot_file(const std::string& piece, int64_t position) const;
  void scan();
  void scan_snapshots(const std::vector<std::filesystem::path>& files);
  void say(const std::string& line) const;
  void mark_used(IndexedPiece& piece, double now);
  void push(Job job);
  void write_loop();
  void write(const Job& job);
  void drop(IndexedPiece& piece);  // with all that continues it
  void shrink();

  PrefixDiskOptions o_;
  std::unique_ptr<CacheFolder> folder_;
  std::vector<mixers::StateSite> sites_;
  std::vector<std::pair<int, int>> rows_, fixed_;  // {site, part}
  int64_t row_bytes_ = 0, snapshot_bytes_ = 0;
  mutable std::mutex mutex_;  // of everything below
  std::condition_variable work_, idle_;
  PieceIndex index_;
  std::deque<Job> queue_;
  int64_t queued_bytes_ = 0, read_tokens_ = 0, skipped_ = 0;
  bool writing_ = false, stop_ = false, told_full_ = false;
  std::thread writer_;
};

}  // namespace quern::infer

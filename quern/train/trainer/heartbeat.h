// Heartbeat: a rank's progress, visible to other processes through a memory-mapped page, DIR/rank_R: the rank stores,
// the supervisor loads; nothing is sent and nothing can block. A background thread increments `pulse`, so a stopped or
// lost process shows; `sequence` grows with every section the training thread enters, so a rank that waits can be told
// from the one that is waited for. Clocks are not compared: the supervisor looks for change.
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "quern/base/error.h"

namespace quern::train {

enum class Section : int32_t { setup, data, compute, reduce, optimizer, checkpoint, evaluate };
const char* section_name(Section s);

enum class RankEnd : int32_t { running, finished, failed, terminated };  // terminated: by SIGTERM, so by a launcher

// Training cannot go on because losses or gradients are no numbers, or stay high, again and again.
class BadNumbers : public Error {
 public:
  using Error::Error;
};

struct RankState {
  int32_t rank = 0, ranks = 0, pid = 0;
  int64_t pulse = 0, sequence = 0, step = 0;  // step: finished ones
  Section section = Section::setup;
  RankEnd end = RankEnd::running;
  bool bad_numbers = false;
  double busy_s = 0;  // of the last step: this rank's own work, waiting left out
  std::string text;   // why it failed
};

class Heartbeat {
 public:
  Heartbeat() = default;  // tells nobody
  Heartbeat(const std::filesystem::path& dir, int rank, int ranks);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void enter(Section s, int64_t step);
  void busy(double seconds);
  void finished();
  void failed(const std::exception& e);

 private:
  struct Page;
  friend std::vector<RankState> read_heartbeats(const std::filesystem::path& dir);
  friend void note_termination();
  static void on_termination(int);
  static std::atomic<Page*>* pages();
  Page* page_ = nullptr;
  std::jthread pulse_;
};

// All ranks that have begun, in order. A page that is not complete yet is passed over.
std::vector<RankState> read_heartbeats(const std::filesystem::path& dir);

// From now on SIGTERM is written on every page of this process before it ends the process.
void note_termination();

}  // namespace quern::train

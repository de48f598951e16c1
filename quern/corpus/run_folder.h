// DIR/unfinished: what a run keeps while it runs, so that the next process goes on where a killed one stopped. It
// holds spill files, and state.json, which says how much of them counts and is replaced in one step. A state belongs
// to an identity (configuration and inputs); one of another identity is thrown away. One process at a time: the
// folder is locked. The folder goes when the run is done.
#pragma once
#include <filesystem>
#include <string>

#include "quern/base/json.h"
#include "quern/corpus/spill.h"

namespace quern::corpus {

class RunFolder {
 public:
  RunFolder(const std::filesystem::path& out, std::string identity);  // throws when another process is at work there
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const Json& state() const { return state_; }   // null: from the beginning
  bool discarded() const { return discarded_; }  // there was a state, of something else
  void save(Json state);
  SpillFile spill(const std::string& name, uint64_t keep) const { return SpillFile::named(folder_ / name, keep); }
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  void remove();  // the run is done

 private:
  std::filesystem::path folder_;
  std::string identity_;
  Json state_;
  bool discarded_ = false;
  int lock_ = -1;
};

}  // namespace quern::corpus

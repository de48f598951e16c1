// DIR/unfinished: what a run keeps while it runs, so that the next process goes on where a killed one stopped. It
// holds spill files, and state.json, which says how much of them counts and is replaced in one step. A state belongs
// to an identity (configuration, inputs, number of ranks); one of another identity is thrown away. One run at a time:
// the folder is locked. The folder goes when the run is done. Several ranks have a folder each in it, rank-000 …, and
// go on only if all of them can.
#pragma once
#include <filesystem>
#include <string>

#include "quern/base/json.h"
#include "quern/corpus/io/inputs.h"
#include "quern/corpus/io/spill.h"
#include "quern/corpus/run/ranks.h"

namespace quern::corpus {

// `what` is done with the inputs as they lie there now: their paths, sizes and times count.
std::string run_identity(const Inputs& inputs, const std::string& what);

class RunFolder {
 public:
  static constexpr const char* kName = "unfinished";
  // Throws when another run is at work there. name: of the folder, in `out`.
  RunFolder(const std::filesystem::path& out, std::string identity, Ranks ranks = Ranks(),
            const std::string& name = kName);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const Json& state() const { return state_; }   // null: from the beginning
  bool discarded() const { return discarded_; }  // there was a state, of something else
  void save(Json state);
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path of_rank(int r) const;
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  void remove();  // the run is done; all ranks call it

 private:
  Ranks ranks_;
  std::filesystem::path root_, folder_;
  std::string identity_;
  Json state_;
  bool discarded_ = false;
  int lock_ = -1;
};

// Makes the folder; one that holds a finished run (manifest.json) is an Error. What a run that was killed in its last
// moment left beside its manifest goes, unless somebody is at work there.
void refuse_finished(const std::filesystem::path& out);

}  // namespace quern::corpus

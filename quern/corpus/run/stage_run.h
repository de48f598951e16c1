// A corpus stage running in its output folder: the progress saved by an earlier process for the same work, and by this
// one (run_folder.h). A stage has consecutive phases; a scan is one that can resume in its middle. The progress folder
// is deleted last, after the manifest: a stage calls its finish() before remove().
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "quern/corpus/run/run_folder.h"
#include "quern/corpus/run/scan.h"

namespace quern::corpus {

struct ResumeInfo {
  uint64_t resumed = 0;    // times the run went on after it was cut off
  bool discarded = false;  // something else's unfinished run lay in the folder and was removed
};

// Where a stage writes, and how often it notes how far it came.
struct StageOutput {
  std::filesystem::path folder;
  int level = 3;                                   // of zstd
  uint64_t shard_bytes = uint64_t{1} << 30;        // of text in one file
  uint64_t checkpoint_bytes = uint64_t{32} << 20;  // of input between two notes
  std::string text() const { return fmt::format("{} {}", level, shard_bytes); }
};

class StageRun {
 public:
  // what: the stage, its configuration and all else that decides what it writes, the inputs apart.
  StageRun(const std::filesystem::path& out, const Inputs& inputs, const std::string& what, uint64_t every,
           const RunNames& names = RunNames())
      : folder_(out, run_identity(inputs, what), Ranks(), names), every_(every) {
    if (!folder_.state().is_null()) read_state(folder_.state().at("resumed"), went_on_.resumed), ++went_on_.resumed;
    went_on_.discarded = folder_.discarded();
  }
  // The state that an earlier process left; null: none.
  const Json* state() const { return folder_.state().is_null() ? nullptr : &folder_.state(); }
  std::string phase() const { return folder_.phase(); }
  const ResumeInfo& went_on() const { return went_on_; }
  std::filesystem::path file(const std::string& name) const { return folder_.file(name); }

  void note(const char* phase, Json state) {
    state.set("phase", phase), state.set("resumed", write_value(went_on_.resumed));
    folder_.save(std::move(state));
  }
  // For a scan that is `phase`; add(state) flushes what the stage wrote and adds what it has to know of that.
  ScanCheckpoints notes(const char* phase, std::function<void(Json&)> add) {
    return {.from = this->phase() == phase ? state() : nullptr,
            .every = every_,
            .note = [this, phase, add = std::move(add)](Json&& state) {
              add(state);
              note(phase, std::move(state));
            }};
  }
  void remove() { folder_.remove(); }

 private:
  RunFolder folder_;
  uint64_t every_;
  ResumeInfo went_on_;
};

}  // namespace quern::corpus

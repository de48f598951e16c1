// DIR/unfinished: the saved progress of a run, so that a new process can resume a killed one. It holds spill files,
// and state.json, which says how much of them is valid and is replaced atomically. A state belongs to an identity
// (configuration, inputs, number of ranks); one of another identity is discarded. One run at a time: the folder is
// locked. It is deleted when the run is done. Ranks have a subfolder each, rank-000 …, and resume only if all of them
// can. It also lists the files that the run makes in DIR (run_manifest.h): a run that starts over removes those, and
// refuses a folder that holds anything else.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/config.h"
#include "quern/base/json.h"
#include "quern/corpus/io/inputs.h"
#include "quern/corpus/io/spill.h"
#include "quern/corpus/run/ranks.h"

namespace quern::corpus {

// `what` is done with the inputs as they lie there now: their paths, sizes and times count.
std::string run_identity(const Inputs& inputs, const std::string& what);

// What a run is called in its output folder.
struct RunNames {
  std::string folder = "unfinished";  // RunFolder::kName
  // Written at once and renamed (write_file), nobody else's: the next run removes what a killed one left of them.
  std::vector<std::string> whole_files = {"manifest.json"};
  bool whole_folder = true;  // the output folder is this run's alone; false: it shares it, as PREFIX.* does
};

// Reads a part of a saved state, written by write_value (config.h): every field must be present, further keys are not read.
template <class T>
void read_state(const Json& j, T& v) {
  read_field(j, v, "state", FieldPresence::required);
}

class RunFolder {
 public:
  static constexpr const char* kName = "unfinished";
  // Throws when another run is at work there.
  RunFolder(const std::filesystem::path& out, std::string identity, Ranks ranks = Ranks(),
            const RunNames& names = RunNames());
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const Json& state() const { return state_; }  // null: from the beginning
  std::string phase() const { return state_.is_null() ? "" : state_.at("phase").as_string("phase"); }
  bool discarded() const { return discarded_; }  // there was a state, of something else
  void save(Json state);
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path of_rank(int r) const;
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  // The run is done; all ranks call it. The run that it takes the place of stays while later stages are to come.
  void remove();

 private:
  void start_over(const std::filesystem::path& out, const RunNames& names);
  Ranks ranks_;
  std::filesystem::path root_, folder_;
  std::string identity_;
  Json state_;
  bool discarded_ = false, made_ = false;  // made_: the folder of its progress is new
  int lock_ = -1;
};

// Makes the folder; one that holds a finished run (manifest.json) is an Error. What a run that was killed in its last
// moment left beside its manifest goes, unless somebody is at work there.
void refuse_finished(const std::filesystem::path& out);
// The same for a run that shares its folder, with PREFIX.json as its manifest: an Error too when one of `names`, which it
// is to make, lies there and no run that can be resumed lists it.
void refuse_finished_files(const std::filesystem::path& manifest, const std::vector<std::string>& names);
enum class OutFolder { whole, shared };  // of one run alone, or of several with a PREFIX each
// Sets the finished run of this manifest aside, to be removed when a new run in its place has written its own: exactly
// what the manifest names, with the output of later stages, goes to UNFINISHED/replaced. Killed on the way, before or
// behind, nothing is lost: the files lie in one of the two places, and the next run puts back or goes on. An Error, and
// nothing is moved, when the manifest is another's, when one of the files is an input, or when a whole folder holds anything
// else. Without a manifest nothing is done.
void replace_finished(const std::filesystem::path& manifest, const Inputs& inputs,
                      OutFolder folder = OutFolder::whole);
// Removes what processes were killed over in `out`: whole files are written as NAME.partNUMBER and then renamed. Whoever
// calls it knows that no other process is at work on them.
void remove_interrupted(const std::filesystem::path& out, const std::vector<std::string>& names);
// Removes a run's unfinished folder; killed on the way, nobody takes what is left of a replaced run for one to put back.
void remove_work(const std::filesystem::path& unfinished);
// Writes manifest.json, which ends the run at work there: with the files that it made, and the manifests of `later`
// stages.
Json write_manifest(const std::filesystem::path& out, const Json& manifest,
                    const std::vector<std::string>& later = {});

}  // namespace quern::corpus

// Which files of a folder belong to a corpus run. A finished run lists them in its manifest.json, under "files", each
// as "rows" or "other"; a run at work lists them in UNFINISHED/files, each before it is made. Nobody removes a file
// that no list names, and a folder read as input gives its rows alone.
//
//   {"files": {"part-00000.jsonl.zst": "rows", "reasons.jsonl": "other", "mixed/manifest.json": "other"}}
//
// A listed file that is such a manifest itself, of a later stage, stands for its files too.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::corpus {

constexpr const char* kReplaced = "replaced";  // in a run's unfinished folder: the run that it takes the place of
constexpr const char* kGone = "gone";          // likewise: such a run while it is removed
constexpr const char* kLaterStages = "build.json";  // beside a manifest: stages of the same run are still to come

struct OwnedFile {
  std::string name;   // relative to the folder of its list
  bool rows = false;  // documents that a later stage reads
};

// What a manifest lists; null: the file is not there, or is not the manifest of a corpus run.
std::optional<std::vector<OwnedFile>> manifest_files(const std::filesystem::path& manifest);
// The folder in which the run of this manifest works until it is done: unfinished, or NAME.unfinished for NAME.json.
std::filesystem::path unfinished_of(const std::filesystem::path& manifest);
// What a run lists in its unfinished folder; null: no run is or was at work there. Nothing, where a run that it is to
// replace was set aside and it did not begin, or is being removed and it is done.
std::optional<std::vector<OwnedFile>> unfinished_files(const std::filesystem::path& unfinished);

// Lists a file of the run at work in `unfinished`, once. Does nothing where no run is.
void list_file(const std::filesystem::path& unfinished, const OwnedFile& file);
// `manifest` with the files that the run at work in `unfinished` listed and made, and with those of later stages.
Json with_files(Json manifest, const std::filesystem::path& unfinished, const std::vector<std::string>& later = {});

// NAME, NAME.part or NAME.partNUMBER: a file while it is written has such a name.
bool is_name_or_part(const std::string& file, const std::string& name);

}  // namespace quern::corpus

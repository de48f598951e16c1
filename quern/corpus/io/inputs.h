// Input files of a corpus: `[SOURCE=]PATH` arguments become a list of files, each with its source and format. Sources
// keep the order they are first named in, files are sorted by path within a source, so that ids do not depend on the
// order of the arguments. An id is source (8 bits) | file within the list (20 bits) | record within the file (36
// bits).
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {

enum class InputForm { jsonl, text, html, warc, parquet, csv, tsv };
// Parquet, CSV and TSV are read as JSON lines.
constexpr bool is_table(InputForm f) { return f == InputForm::csv || f == InputForm::tsv; }
constexpr bool is_lines(InputForm f) { return f == InputForm::jsonl || f == InputForm::parquet || is_table(f); }

struct InputFile {
  std::filesystem::path path;
  uint32_t source = 0;
  InputForm form = InputForm::jsonl;
  uint64_t bytes = 0;                        // as it lies on disk
  std::shared_ptr<OpenPipe> pipe = nullptr;  // of what can be read once; null: a file
  std::string named = {};                    // the path as the user's words give it
  bool linked = false;                       // a symbolic link within a named folder
};

struct Inputs {
  std::vector<std::string> sources;
  std::vector<InputFile> files;
  std::vector<std::string> skipped;           // files in named folders whose ending says nothing
  std::vector<std::string> by_products = {};  // what earlier runs wrote beside their rows, in named folders
  std::vector<std::string> notes;             // what else is left out: columns of Parquet files
  // Symbolic links in named folders, to folders, to nothing, or to files that are among the inputs themselves.
  std::vector<std::string> links = {};
  // Numbers of the rows behind each source's last, when files hold several sources in order; empty: a file holds one.
  std::vector<uint64_t> source_ends = {};
  uint32_t source_of(const InputFile& file, uint64_t number) const;
  uint64_t bytes() const;
  bool has_pipe() const;
  Json json() const;
};

bool names_sources(const Inputs& inputs);  // the user named the sources, or some

// Of a file of JSON lines that is something else.
constexpr const char* kArrayHint = "a JSON array: write one object per line, for example with jq -c '.[]'";

std::string form_names();  // "jsonl, text, …"
std::string form_name(InputForm form);
InputForm form_named(const std::string& name);  // throws Error
// `form`: "auto" (by the file's ending, those of compression apart; standard input, "-", and pipes by what they begin with) or
// one of form_names().
// A symbolic link in a folder is read when it leads to a file that is not read otherwise.
// A folder in which a corpus run wrote gives the rows that its manifest lists, and not its by-products (rejects,
// reasons, the manifest, later stages); one with an unfinished run is an Error, unless it is `own`, the output folder
// of the run that asks. A file named by itself is read.
// A word may be a pattern, as the shell has them: web=crawl/2024-*/part-?.jsonl.
// `source`: names those words that name none, and words are paths only when it is given.
Inputs find_inputs(std::span<const std::string> words, const std::string& form = "auto",
                   const std::string& source = "", const std::filesystem::path& own = {});
// An Error when one of them can be read once only, for stages that read twice.
void refuse_pipes(const Inputs& inputs);
void check_inputs(Inputs& inputs);  // sorts; no file twice, not too many, not none

constexpr uint64_t document_id(uint32_t source, uint32_t file, uint64_t row) {
  return uint64_t{source} << 56 | uint64_t{file} << 36 | row;
}
constexpr const char* kUnnamedSource = "input";
constexpr uint32_t kMaxSources = 256, kMaxFiles = 1u << 20;
constexpr uint64_t kMaxRows = uint64_t{1} << 36;

}  // namespace quern::corpus

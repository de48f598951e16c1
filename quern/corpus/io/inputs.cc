#include "quern/corpus/io/inputs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "quern/base/error.h"
#include "quern/corpus/bytes/ascii.h"
#include "quern/corpus/io/input_paths.h"
#include "quern/corpus/io/parquet.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

struct FormName {
  InputForm form;
  std::string_view name, endings;  // with blanks around each ending
};
constexpr FormName kForms[] = {{InputForm::jsonl, "jsonl", " .jsonl .ndjson .json "},
                               {InputForm::text, "text", " .txt .text .md .rst "},
                               {InputForm::html, "html", " .html .htm .xhtml "},
                               {InputForm::warc, "warc", " .wet .warc "},
                               {InputForm::parquet, "parquet", " .parquet "},
                               {InputForm::csv, "csv", " .csv "},
                               {InputForm::tsv, "tsv", " .tsv .tab "}};
constexpr const char* kEndings =
    ".jsonl, .csv, .tsv, .html, .txt, .md, .wet, .warc, each with .gz, .zst, .xz or .bz2, or .parquet";
constexpr const char* kPdf = "PDF is not read: extract its text before, with pdftotext for example";

std::string lower_ending(const fs::path& name) {
  std::string end = name.extension().string();
  for (char& c : end) c = ascii_lower(c);
  return end;
}

std::optional<InputForm> form_by_name(const fs::path& path) {
  fs::path name = path.filename();
  for (const std::string_view packed : {".gz", ".zst", ".zstd", ".xz", ".bz2"})
    if (lower_ending(name) == packed) {
      name = name.stem();
      break;
    }
  const std::string end = lower_ending(name);
  for (const FormName& f : kForms)
    if (!end.empty() && f.endings.find(" " + end + " ") != f.endings.npos) return f.form;
  return std::nullopt;
}

std::optional<InputForm> forced_form(const std::string& form) {
  if (form == "auto") return std::nullopt;
  return form_named(form);
}

// What a pipe brings, by its first bytes.
InputForm form_by_content(const OpenPipe& pipe, const std::string& name) {
  const std::string begin = unpacked_beginning(pipe.begun);
  std::string_view first = begin;
  if (first.starts_with("\xEF\xBB\xBF")) first.remove_prefix(3);
  first.remove_prefix(std::min(first.find_first_not_of(" \t\r\n"), first.size()));
  if (first.starts_with("%PDF-")) fail("{}: {}", name, kPdf);
  if (first.starts_with("WARC/")) return InputForm::warc;
  if (first.starts_with('{') || first.empty()) return InputForm::jsonl;
  if (first.starts_with('[')) fail("{}: {}", name, kArrayHint);
  if (same_ascii_word(first.substr(0, 5), "<html") || same_ascii_word(first.substr(0, 14), "<!doctype html"))
    return InputForm::html;
  fail("{}: its first bytes are not those of JSON lines, WARC or HTML: name the format", name);
}

void add_pipe(Inputs& in, const std::string& name, uint32_t source, std::optional<InputForm> form) {
  constexpr size_t kLookAhead = size_t{64} << 10;
  for (const InputFile& f : in.files)
    if (f.path == name) fail("{} is listed twice among the inputs", name);
  auto pipe = std::make_shared<OpenPipe>(name, kLookAhead);
  const InputForm f = form ? *form : form_by_content(*pipe, name);
  if (f == InputForm::parquet) fail("{}: Parquet is read from files only: its index is at the end", name);
  in.files.push_back({.path = name, .source = source, .form = f, .pipe = std::move(pipe)});
}

uint32_t source_index(Inputs& in, const std::string& name) {
  const auto at = std::find(in.sources.begin(), in.sources.end(), name);
  if (at == in.sources.end()) {
    if (in.sources.size() == kMaxSources) fail("more than {} sources", kMaxSources);
    in.sources.push_back(name);
    return static_cast<uint32_t>(in.sources.size() - 1);
  }
  return static_cast<uint32_t>(at - in.sources.begin());
}

bool is_saved_index(const fs::path& folder) {  // of deduplication
  return fs::is_regular_file(folder / "index.json") && fs::is_regular_file(folder / "records");
}

bool is_within(const fs::path& folder, const fs::path& outer) {
  if (outer.empty()) return false;
  const fs::path inside = fs::weakly_canonical(folder).lexically_relative(fs::weakly_canonical(outer));
  return !inside.empty() && *inside.begin() != "..";
}

// What runs that wrote in `folder` list and is no row: files, and folders of later stages.
void add_by_products(const fs::path& folder, const fs::path& own, std::set<fs::path>& found) {
  std::vector<fs::path> manifests;
  for (const auto& e : fs::directory_iterator(folder)) {
    const fs::path& path = e.path();
    if (e.is_directory() && is_saved_index(path)) found.insert(path);
    if (const auto files = e.is_directory() ? unfinished_files(path) : std::nullopt) {
      if (!is_within(folder, own))
        fail("{}: an unfinished corpus run wrote there, and its rows are not complete: finish it, or name the files",
             folder.string());
      found.insert(path);
      for (const OwnedFile& f : *files) found.insert(folder / f.name);
    }
    const bool tokens = path.extension() == ".json" && fs::exists(fs::path(path).replace_extension(".idx"));
    if (tokens || path.filename() == "manifest.json") {
      manifests.push_back(path);
    }
  }
  for (const fs::path& manifest : manifests) {
    const auto files = manifest_files(manifest);
    if (!files) continue;
    found.insert(manifest);
    for (const OwnedFile& f : *files) {
      const fs::path inner = fs::path(f.name).parent_path();
      if (!f.rows) found.insert(folder / (inner.empty() ? fs::path(f.name) : inner));
    }
  }
}

void add(Inputs& in, const std::string& path_word, uint32_t source, std::optional<InputForm> form,
         const fs::path& own) {
  const fs::path path(path_word);
  if (is_pipe(path)) return add_pipe(in, path_word, source, form);
  if (!fs::exists(path)) fail("{}: no such file or folder", path_word);
  if (!fs::is_directory(path)) {
    const std::optional<InputForm> f = form ? form : form_by_name(path);
    if (!f && lower_ending(path) == ".pdf") fail("{}: {}", path_word, kPdf);
    if (!f) fail("{}: the file extension does not identify its format ({}); name the format", path_word, kEndings);
    in.files.push_back(
        {.path = path, .source = source, .form = *f, .bytes = fs::file_size(path), .named = path_word});
    return;
  }
  const size_t before = in.files.size();
  std::set<fs::path> by_products;
  add_by_products(path, own, by_products);
  for (auto at = fs::recursive_directory_iterator(path); at != fs::recursive_directory_iterator(); ++at) {
    const fs::directory_entry& e = *at;
    if (e.is_symlink() && !e.is_regular_file()) {
      in.links.push_back(e.path().string());
      continue;
    }
    if (e.is_directory() && by_products.contains(e.path())) {
      in.by_products.push_back(e.path().string());
      at.disable_recursion_pending();
    } else if (e.is_directory()) {
      add_by_products(e.path(), own, by_products);
    }
    if (!e.is_regular_file()) continue;
    if (by_products.contains(e.path())) {
      in.by_products.push_back(e.path().string());
      continue;
    }
    const std::optional<InputForm> f = form ? form : form_by_name(e.path());
    if (f)
      in.files.push_back({.path = e.path(),
                          .source = source,
                          .form = *f,
                          .bytes = e.file_size(),
                          .named = e.path().string(),
                          .linked = e.is_symlink()});
    else
      in.skipped.push_back(e.path().string());
  }
  if (in.files.size() == before) fail("{}: contains no readable file ({})", path_word, kEndings);
}

}  // namespace

uint32_t Inputs::source_of(const InputFile& file, uint64_t number) const {
  if (source_ends.empty()) return file.source;
  const auto at = std::ranges::upper_bound(source_ends, number);
  if (at == source_ends.end())
    fail("{}: more rows than the {} of its sources", file.path.string(), source_ends.back());
  return static_cast<uint32_t>(at - source_ends.begin());
}

uint64_t Inputs::bytes() const {
  uint64_t n = 0;
  for (const InputFile& f : files) n += f.bytes;
  return n;
}

bool Inputs::has_pipe() const {
  return std::ranges::any_of(files, [](const InputFile& f) { return f.pipe != nullptr; });
}

bool names_sources(const Inputs& in) { return in.sources.size() > 1 || in.sources[0] != kUnnamedSource; }

std::string form_name(InputForm form) { return std::string(std::ranges::find(kForms, form, &FormName::form)->name); }

InputForm form_named(const std::string& name) {
  for (const FormName& f : kForms)
    if (f.name == name) return f.form;
  fail("format '{}': expected auto, {}", name, form_names());
}

std::string form_names() {
  std::vector<std::string_view> names;
  for (const FormName& f : kForms) names.push_back(f.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Json Inputs::json() const {
  Json list = Json::array();
  for (const InputFile& f : files) {
    Json j = Json::object();
    j.set("source", sources[f.source]), j.set("path", f.path.string()), j.set("bytes", static_cast<int64_t>(f.bytes));
    list.push(std::move(j));
  }
  return list;
}

Inputs find_inputs(std::span<const std::string> words, const std::string& form, const std::string& source,
                   const fs::path& own) {
  Inputs in;
  const std::optional<InputForm> forced = forced_form(form);
  for (const std::string& word : words) {
    const size_t cut = word.find('=');
    const bool named =
        source.empty() && cut != word.npos && cut > 0 && word.find('/') > cut && !is_path_or_pattern(word);
    const std::string name = named ? word.substr(0, cut) : source.empty() ? kUnnamedSource : source;
    const uint32_t index = source_index(in, name);
    for (const std::string& path : matching_paths(named ? word.substr(cut + 1) : word))
      add(in, path, index, forced, own);
  }
  check_inputs(in);
  return in;
}

void refuse_pipes(const Inputs& in) {
  for (const InputFile& f : in.files)
    if (f.pipe)
      fail("{}: this stage reads its inputs twice, and a pipe is read once: write it to a file first",
           f.path.string());
}

namespace {

// Links to files that are among the inputs by themselves go, and all but the first of several links to one file.
void leave_out_links(Inputs& in) {
  if (std::ranges::none_of(in.files, &InputFile::linked)) return;
  std::set<fs::path> seen;
  for (const InputFile& f : in.files)
    if (!f.pipe && !f.linked) seen.insert(fs::weakly_canonical(f.path));
  std::erase_if(in.files, [&](const InputFile& f) {
    if (!f.linked || seen.insert(fs::weakly_canonical(f.path)).second) return false;
    in.links.push_back(f.path.string());
    return true;
  });
}

// A file without its index has none; what is wrong with it is said when it is read.
void note_columns_left_out(Inputs& in, const fs::path& file) {
  std::vector<std::string> left;
  try {
    left = parquet_columns_left_out(file);
  } catch (const Error&) {
    return;
  }
  if (!left.empty())
    in.notes.push_back(fmt::format("{}: columns left out: {}", file.string(), fmt::join(left, ", ")));
}

}  // namespace

void check_inputs(Inputs& in) {
  std::sort(in.files.begin(), in.files.end(), [](const InputFile& a, const InputFile& b) {
    return a.source != b.source ? a.source < b.source : a.path.string() < b.path.string();
  });
  leave_out_links(in);
  std::sort(in.links.begin(), in.links.end());
  std::sort(in.skipped.begin(), in.skipped.end());
  std::sort(in.by_products.begin(), in.by_products.end());
  std::set<fs::path> seen;
  in.notes.clear();
  for (const InputFile& f : in.files)
    if (f.form == InputForm::parquet) note_columns_left_out(in, f.path);
  for (const InputFile& f : in.files)
    if (!seen.insert(f.pipe ? f.path : fs::weakly_canonical(f.path)).second)
      fail("{} is listed twice among the inputs", f.path.string());
  if (in.files.size() > kMaxFiles) fail("{} input files, at most {}", in.files.size(), kMaxFiles);
  if (in.files.empty()) fail("no input files");
  if (in.sources.size() > kMaxSources) fail("{} sources, at most {}", in.sources.size(), kMaxSources);
  for (const std::string& name : in.sources)  // it goes into rows
    if (text::utf8_error(name) != name.npos)
      fail("source '{}': its name is not valid UTF-8: choose another", text::utf8_lossy(name));
}

}  // namespace quern::corpus

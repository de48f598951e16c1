#include "quern/recall/store/sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "quern/text/unicode/utf8.h"

namespace quern::recall {
namespace {

namespace fs = std::filesystem;

constexpr std::array kCode = {".c",   ".cc",    ".cpp",  ".cxx",  ".h",   ".hh",   ".hpp", ".py",
                              ".js",  ".ts",    ".go",   ".rs",   ".sh",  ".java", ".rb",  ".lua",
                              ".sql", ".cmake", ".toml", ".yaml", ".yml", ".json"};
constexpr std::array kProse = {".txt", ".md", ".markdown", ".rst", ".text", ".tex", ".org", ""};

template <class A>
bool among(const A& list, const std::string& x) {
  return std::find(list.begin(), list.end(), x) != list.end();
}

std::string extension(const fs::path& p) {
  std::string e = p.extension().string();
  for (char& c : e)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return e;
}

bool is_jsonl(const fs::path& p) { return extension(p) == ".jsonl" || extension(p) == ".ndjson"; }

void add_document(std::string_view text, uint32_t file, uint32_t line, const ChunkOptions& chunks, uint64_t& sequence,
                  SegmentInput& in, SourceReport& report) {
  const uint64_t begin = in.text.size();
  in.text += text;
  report.ill_formed += text::utf8_error(text) != text.npos;
  append_chunks(text, chunks, begin, in.chunks);
  in.documents.push_back({begin, in.text.size(), sequence++, file, line});
  in.text += '\n';  // between documents
}

// Every line must be an object with the field.
void add_lines(const fs::path& path, std::string_view content, uint32_t file, const ChunkOptions& chunks,
               const std::string& field, uint64_t& sequence, SegmentInput& in, SourceReport& report) {
  uint32_t line = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view text = content.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const std::string where = fmt::format("{}:{}", path.string(), line);
    try {
      add_document(Json::parse(text, where).at(field, where).as_string(where + ", " + field), file, line, chunks,
                   sequence, in, report);
    } catch (const Error& e) {
      report.skipped.push_back(e.what());
    }
  }
}

}  // namespace

std::vector<fs::path> source_files(const std::vector<std::string>& paths) {
  std::vector<fs::path> out;
  for (const std::string& p : paths) {
    if (!fs::exists(p)) fail("{}: no such file or folder", p);
    if (!fs::is_directory(p)) {
      out.push_back(fs::path(p).lexically_normal());
      continue;
    }
    for (auto it = fs::recursive_directory_iterator(p); it != fs::recursive_directory_iterator(); ++it) {
      const std::string name = it->path().filename().string();
      if (name.starts_with(".")) {
        if (it->is_directory()) it.disable_recursion_pending();
        continue;
      }
      const std::string e = extension(it->path());
      if (it->is_regular_file() && (among(kCode, e) || among(kProse, e) || is_jsonl(it->path())))
        out.push_back(it->path().lexically_normal());
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

SegmentFile stat_file(const fs::path& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) fail("cannot read {}: {}", path.string(), std::strerror(errno));
  return {path.string(), static_cast<int64_t>(st.st_size), st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec,
          0};
}

bool append_file(const fs::path& path, SegmentFile file, const SourceOptions& o, uint64_t& sequence, SegmentInput& in,
                 SourceReport& report) {
  const MappedFile mapped(path);
  const std::string_view content(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  if (content.substr(0, 8192).find('\0') != content.npos) {
    report.skipped.push_back(path.string() + ": holds zero bytes, so it is no text");
    return false;
  }
  file.hash = content_check(mapped.bytes());
  const auto number = static_cast<uint32_t>(in.files.size());
  in.files.push_back(std::move(file));
  ChunkOptions chunks{.unit = o.unit.value_or(ChunkUnit::sentence), .max_words = o.max_words};
  if (is_jsonl(path)) {
    add_lines(path, content, number, chunks, o.field, sequence, in, report);
    return true;
  }
  if (!o.unit && among(kCode, extension(path))) chunks.unit = ChunkUnit::code;
  add_document(content, number, 0, chunks, sequence, in, report);
  return true;
}

}  // namespace quern::recall

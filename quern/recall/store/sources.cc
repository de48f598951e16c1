#include "quern/recall/store/sources.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "quern/corpus/bytes/byte_stream.h"
#include "quern/text/unicode/utf8.h"

namespace quern::recall {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxUnpacked = size_t{1} << 30;

std::string extension(const fs::path& p) {
  std::string e = p.extension().string();
  for (char& c : e)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return e;
}

// The content of a file, decompressed when its name says so; nothing when it is no text.
struct Content {
  MappedFile mapped;
  std::string unpacked;
  std::string_view text;
  explicit Content(const fs::path& path) : mapped(path) {
    text = {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
    if (extension(path) != ".gz") return;
    const auto stream = corpus::open_bytes(path);
    char buffer[1 << 16];
    while (const size_t n = stream->read(buffer, sizeof buffer)) {
      unpacked.append(buffer, n);
      if (unpacked.size() > kMaxUnpacked) fail("{}: unpacks to more than {} bytes", path.string(), kMaxUnpacked);
    }
    text = unpacked;
  }
};

struct Destination {
  uint32_t file;
  uint64_t& sequence;
  SegmentInput& in;
  SourceReport& report;
};

void add_document(const ReadDocument& d, uint32_t line, const PassageOptions& options, const Destination& to) {
  SegmentInput& in = to.in;
  const uint64_t begin = in.text.size();
  in.text += d.text;
  to.report.ill_formed += text::utf8_error(d.text) != d.text.npos;
  append_passages(d, options, begin, in.passages);
  in.documents.push_back({begin, in.text.size(), to.sequence++, to.file, line});
  in.text += '\n';  // between documents
}

// Every line must be an object with the field.
void add_lines(const fs::path& path, std::string_view content, const PassageOptions& options,
               const std::string& field, const Destination& to) {
  uint32_t line = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view text = content.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const std::string where = fmt::format("{}:{}", path.string(), line);
    try {
      ReadDocument d;
      d.text = Json::parse(text, where).at(field, where).as_string(where + ", " + field);
      add_document(d, line, options, to);
    } catch (const Error& e) {
      to.report.skipped.push_back(e.what());
    }
  }
}

}  // namespace

bool is_below(const std::string& path, const std::string& root) {
  const fs::path p(path), r = fs::path(root).lexically_normal();
  const auto [at, end] = std::mismatch(r.begin(), r.end(), p.begin(), p.end());
  return at == r.end() || (std::next(at) == r.end() && at->empty());
}

std::vector<fs::path> source_files(const std::vector<std::string>& paths, SourceReport* report) {
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
      if (!it->is_regular_file()) continue;
      if (document_kind(name)) {
        out.push_back(it->path().lexically_normal());
      } else if (report) {
        ++report->unread_kinds[extension(it->path())];
      }
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
  const auto skip = [&](const std::string& why) {
    report.skipped.push_back(why);
    return false;
  };
  std::optional<Content> content;
  try {
    content.emplace(path);
  } catch (const Error& e) {
    return skip(e.what());
  }
  const std::string_view text = content->text;
  if (text.substr(0, 8192).find('\0') != text.npos)
    return skip(path.string() + ": holds zero bytes, so it is no text");
  const DocumentKind kind = document_kind(path.filename().string()).value_or(DocumentKind::plain);
  if (kind == DocumentKind::man && !is_roff(text))
    return skip(path.string() + ": is named like a man page and is none");
  file.hash = content_check(content->mapped.bytes());
  const Destination to{static_cast<uint32_t>(in.files.size()), sequence, in, report};
  in.files.push_back(std::move(file));
  PassageOptions options{.chunks = {.unit = o.unit.value_or(ChunkUnit::sentence),
                                    .max_words = o.max_words != 0 ? o.max_words
                                                 : o.unit         ? 64
                                                                  : 128},
                         .min_words = o.unit ? 0 : o.min_words};
  const size_t before = in.passages.chunks.size();
  if (kind == DocumentKind::json_lines) {
    add_lines(path, text, options, o.field, to);
  } else {
    if (!o.unit && kind == DocumentKind::code) options.chunks.unit = ChunkUnit::code;
    add_document(read_document(kind, text), 0, options, to);
  }
  report.without_text += in.passages.chunks.size() == before;
  return true;
}

}  // namespace quern::recall

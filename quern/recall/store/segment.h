// A segment: texts, their chunks and everything a search needs, in one immutable file that is memory-mapped and read
// in place. Written atomically (another name, flushed, renamed).
//
//   "QRNRECL2" u64 sections, u64 check of the table; per section u64 offset, bytes, check; sections at multiples of 64
//
// Segments of the first version ("QRNRECL1") end before the paths of headings: they open, and their chunks have none.
// Opening reads every byte once to verify the checks. Numbers are little-endian, as the machine has them.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/recall/mixpr/mixpr.h"
#include "quern/recall/read/passages.h"

namespace quern::recall {

struct FileStamp {  // a file that is replaced gets another one
  uint64_t inode = 0;
  int64_t size = -1, modified_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const std::filesystem::path& path);  // size −1 when it is not there

struct SegmentFile {  // a source file with texts here
  std::string path;
  int64_t size = 0, modified_ns = 0;
  uint64_t hash = 0;
  Json facts = {};  // what is told with its text: title, url, metadata; null: nothing
};
struct SegmentDocument {
  uint64_t begin, end;  // of its text in the segment's
  uint64_t sequence;    // documents are ordered by this across segments
  uint32_t file;
  uint32_t line;  // in a JSONL file, from 1; else 0
};
struct SegmentInput {
  std::string text;
  PassageList passages;  // ascending, inside documents
  std::vector<SegmentFile> files;
  std::vector<SegmentDocument> documents;  // ascending
};

RecallStats write_segment(const std::filesystem::path& path, const SegmentInput& in, const RecallOptions& options);

class Segment {
 public:
  Segment(const std::filesystem::path& path, const RecallOptions& options);  // throws Error on a damaged file
  std::string_view text() const { return text_; }
  std::span<const Chunk> chunks() const { return chunks_; }
  std::span<const SegmentDocument> documents() const { return documents_; }
  const std::vector<SegmentFile>& files() const { return files_; }
  const SegmentDocument& document_of(const Chunk& c) const;
  std::string_view path_of(size_t chunk) const;  // the headings above it
  bool has_paths() const { return !path_ends_.empty(); }
  const RecallView& view() const { return view_; }
  const Json& meta() const { return meta_; }
  size_t bytes() const { return file_->bytes().size(); }
  const FileStamp& stamp() const { return stamp_; }

 private:
  template <class T>
  std::span<const T> section(size_t i) const;
  FileStamp stamp_;
  std::unique_ptr<MappedFile> file_;
  std::string_view text_;
  std::span<const Chunk> chunks_;
  std::span<const SegmentDocument> documents_;
  std::span<const uint32_t> paths_;      // chunk → path
  std::span<const uint64_t> path_ends_;  // path → its end in path_text_
  std::string_view path_text_;
  std::vector<SegmentFile> files_;
  std::vector<const uint32_t*> slabs_;
  RecallView view_;
  Json meta_;
};

// To the disk before the name changes: what has the name is whole, also after a power cut.
void write_durably(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);
uint64_t content_check(std::span<const std::byte> bytes);

}  // namespace quern::recall

// A growing search index on disk: a folder with immutable segments and manifest.json, which lists the valid ones. A
// change writes one new segment and then the manifest, each atomically, so that a kill at any moment leaves the state
// before or after it. Segments with changed documents, and small ones, are merged into the new one: sizes grow
// geometrically and every text is rewritten O(log n) times. One writer at a time (a lock file); readers keep what they
// opened.
//   `fused` and BM25 are exact across segments but for the walk. The similarity graph is built within a segment: a random walk runs in each and the
//   results are weighted by the segment's relevance to the query; `merge` puts everything into one.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/recall/store/chunk_encoder.h"
#include "quern/recall/store/chunk_vectors.h"
#include "quern/recall/store/sources.h"

namespace quern::recall {

struct IndexReport {
  int64_t files = 0, added = 0, changed = 0, gone = 0, unchanged = 0;
  int64_t segments = 0, documents = 0, chunks = 0, words = 0;  // of the whole index now
  double seconds = 0;
  SourceReport sources;
  Json json() const;
};

struct RecallHit {
  std::string path;
  uint32_t line = 0;            // of a JSONL file
  uint64_t begin = 0, end = 0;  // bytes in the document
  uint64_t sequence = 0;
  uint32_t copies = 1;
  double score = 0;
  std::string heading;  // the path of headings above it, "" without one
  std::string text;
  Json facts = {};  // of its document, as it was put; null: none
};
struct RecallAnswer {
  std::vector<RecallHit> hits;
  RecallMode mode = RecallMode::local;
  double alpha = 0;
  std::string fallback;  // "", "bm25" (no chunk was similar to the question), or "none" (nothing matches, no hits)
  Json json() const;
};

// The chunks of an answer as the context of a prompt, in the order given, with the question at the end. A gap between
// chunks of one document is marked.
std::string pack_prompt(const RecallAnswer& answer, std::string_view question);

// The encoder that made an index's vectors; width 0: it has none.
struct IndexEncoder {
  std::string fingerprint, name;
  int64_t width = 0;
  Json json() const;
  static IndexEncoder from(const Json& j);
};
using EncodingProgress = std::function<void(int64_t done, int64_t all)>;  // of the chunks to encode
std::string vector_file_of(const std::string& segment);

struct NamedText {
  std::string name;
  std::string_view text;
};

// A text that is no file.
struct PutDocument {
  std::string name;
  ReadDocument document;
  Json facts = {};  // an object that its hits carry
};

enum class BelowNames : bool { left, removed };  // what lies below a name, as files below a folder do
enum class SegmentMerge { small, all };          // small: those that are not worth a file of their own
enum class HitOrder : bool { document, score };  // score: best first

class RecallStore {
 public:
  // Opens the folder's index; throws Error when there is none.
  explicit RecallStore(std::filesystem::path folder);
  // The same, or a new one with these options; an existing one keeps its own. A new one of English texts gets the vectors of
  // the shipped word encoder (chunk_encoder.h).
  static RecallStore open_or_create(const std::filesystem::path& folder, const RecallOptions& options);

  // Hybrid retrieval: chunks get vectors as they are indexed, and fused() uses them. Throws Error if the index has vectors
  // by another encoder. An index without vectors gets them for all of its chunks at the next call of index().
  void use_encoder(std::shared_ptr<const ChunkEncoder> encoder, EncodingProgress progress = {});
  // Words alone, whether there are vectors or not; a new index then gets none.
  void use_words_alone();
  const IndexEncoder& made_by() const { return made_by_; }
  bool has_encoder() const { return encoder_ != nullptr; }

  // Brings the index up to date with the files among and below paths: new, changed and vanished ones.
  IndexReport index(const std::vector<std::string>& paths, const SourceOptions& options,
                    SegmentMerge merge = SegmentMerge::small);
  // Removes the texts of these names, and those of files below folders of these names; their bytes leave the disk with the
  // segment that held them. Returns how many files went. Throws Error, and removes nothing, if a name is not there.
  int64_t remove(const std::vector<std::string>& names, BelowNames below = BelowNames::removed);
  // Adds texts under their names, replacing what had them; searchable and on disk when it returns. Of two of one name the
  // later one stays.
  void put(std::span<const NamedText> texts, const ChunkOptions& chunks);
  // The same with titles, headings and facts. Returns how many replaced another one.
  int64_t put(std::span<const PutDocument> documents, const PassageOptions& passages);
  void put(const std::string& name, std::string_view text, const ChunkOptions& chunks) {
    const NamedText one{name, text};
    put(std::span(&one, 1), chunks);
  }

  // BM25 with more evidence, with an encoder also that of vectors (fused.h): what to use unless there is a reason for another. A question that only asks for
  // the whole, such as for a summary, is answered by the graph's global mode.
  RecallAnswer fused(std::string_view question, size_t k, HitOrder order = HitOrder::score) const;
  RecallAnswer mixpr(std::string_view question, const RecallQuery& q) const;
  RecallAnswer bm25(std::string_view question, size_t k, HitOrder order = HitOrder::score) const;
  Json stats() const;
  // Another process, or another object, has changed the index since this one read it.
  bool changed_on_disk() const;
  // The index as it is now; segments that stayed are shared with this one.
  RecallStore reopened() const;
  const std::vector<std::shared_ptr<const Segment>>& segments() const { return segments_; }
  const RecallOptions& options() const { return options_; }

 private:
  RecallStore(std::filesystem::path folder, const RecallOptions& options);
  class WriterLock {  // held while the index changes; the kernel lets go when the process dies
   public:
    explicit WriterLock(const std::filesystem::path& folder);  // throws Error while another one holds it
    ~WriterLock();
    WriterLock(const WriterLock&) = delete;
    WriterLock& operator=(const WriterLock&) = delete;

   private:
    int fd_;
  };
  bool is_there() const;  // on the disk
  void load();
  void load_once();
  void commit(SegmentInput&& fresh, const std::vector<std::string>& replaced, SegmentMerge merge);
  void write_vectors(const std::string& segment) const;
  IndexEncoder vectors_by() const;
  std::vector<std::vector<float>> cosines(std::string_view question) const;  // by segment; empty without an encoder
  RecallHit hit(const Segment& s, const RecalledChunk& c) const;
  std::filesystem::path folder_;
  RecallOptions options_;
  int64_t next_segment_ = 1;
  uint64_t next_sequence_ = 0;
  std::vector<std::string> names_;  // of segment files
  std::vector<std::shared_ptr<const Segment>> segments_;
  FileStamp manifest_;  // when it was read
  IndexEncoder made_by_;
  std::vector<std::shared_ptr<const ChunkVectors>> vectors_;  // of segments_, where the index has vectors
  std::shared_ptr<const ChunkEncoder> encoder_;
  bool words_alone_ = false;
  EncodingProgress progress_;
};

}  // namespace quern::recall

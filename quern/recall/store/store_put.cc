// Texts that are no files: added, replaced and removed by their names.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "quern/base/file_lock.h"
#include "quern/recall/store/store.h"

namespace quern::recall {

namespace fs = std::filesystem;

RecallStore::WriterLock::WriterLock(const fs::path& folder)
    : fd_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (fd_ < 0) fail("cannot lock {}: {}", folder.string(), std::strerror(errno));
  if (!lock_exclusively(fd_)) {
    ::close(fd_);
    fail("{} is being written by another process", folder.string());
  }
}
RecallStore::WriterLock::~WriterLock() { ::close(fd_); }

void RecallStore::put(std::span<const NamedText> texts, const ChunkOptions& chunks) {
  std::vector<PutDocument> documents;
  for (const NamedText& t : texts)
    documents.push_back({t.name, {.text = std::string(t.text), .title = {}, .headings = {}}});
  put(documents, {.chunks = chunks});
}

int64_t RecallStore::put(std::span<const PutDocument> documents, const PassageOptions& passages) {
  if (documents.empty()) return 0;
  for (const PutDocument& p : documents)
    if (p.name.empty()) fail("a text has no name: texts are replaced and removed by their names");
  const WriterLock lock(folder_);
  if (is_there()) load();
  std::set<std::string_view> there;
  for (const auto& s : segments_)
    for (const SegmentFile& f : s->files()) there.insert(f.path);
  std::map<std::string_view, size_t> last;
  for (size_t i = 0; i < documents.size(); ++i) last[documents[i].name] = i;
  SegmentInput fresh;
  std::vector<std::string> names;
  int64_t replaced = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    const PutDocument& p = documents[i];
    if (last[p.name] != i) continue;
    const std::string& text = p.document.text;
    const uint64_t begin = fresh.text.size();
    const auto file = static_cast<uint32_t>(fresh.files.size());
    names.push_back(p.name), replaced += there.contains(p.name) ? 1 : 0;
    fresh.files.push_back(
        {p.name, static_cast<int64_t>(text.size()), 0, content_check(std::as_bytes(std::span(text))), p.facts});
    fresh.documents.push_back({begin, begin + text.size(), next_sequence_++, file, 0});
    append_passages(p.document, passages, begin, fresh.passages);
    fresh.text += text, fresh.text += '\n';
  }
  commit(std::move(fresh), names, SegmentMerge::small);
  return replaced;
}

int64_t RecallStore::remove(const std::vector<std::string>& names, BelowNames below) {
  const WriterLock lock(folder_);
  if (is_there()) load();
  std::set<std::string> gone;
  for (const std::string& name : names) {
    bool any = false;
    for (const auto& s : segments_)
      for (const SegmentFile& f : s->files())
        if (f.path == name || (below == BelowNames::removed && is_below(f.path, name)))
          any = true, gone.insert(f.path);
    if (!any) fail("{}: no document of this name is in the index; nothing was deleted", name);
  }
  if (!gone.empty()) commit({}, {gone.begin(), gone.end()}, SegmentMerge::small);
  return static_cast<int64_t>(gone.size());
}

}  // namespace quern::recall

#include "quern/memory/topic/walk_rank.h"

#include "quern/recall/mixpr/mixpr.h"

namespace quern::memory {

std::vector<std::pair<size_t, double>> walk_scores(std::span<const std::string> texts, std::string_view topic) {
  if (texts.empty()) return {};
  std::string all;
  std::vector<recall::Chunk> chunks;
  for (const std::string& t : texts) {
    chunks.push_back({all.size(), all.size() + t.size()});
    all += t;
    all += '\n';
  }
  const recall::RecallIndex index = recall::RecallIndex::build(all, chunks, {});
  recall::RecallQuery q;
  q.k = texts.size(), q.mode = recall::RecallMode::local, q.seed = recall::SeedKind::bm25;
  const recall::Recalled r = index.mixpr(topic, q);
  std::vector<std::pair<size_t, double>> out;
  if (r.fallback == "recent") return out;  // no word of it is there
  for (const recall::RecalledChunk& c : r.chunks) out.emplace_back(c.chunk, c.score);
  return out;
}

}  // namespace quern::memory

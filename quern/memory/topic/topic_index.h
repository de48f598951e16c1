// Persistent word index of a conversation's turns, so that the first question about a topic need not read them all.
// Turns are indexed in segments of 65,536 response numbers. The last one grows in memory; a full one is written next
// to the database (DB-topics/CONVERSATION-SEGMENT.bm25) at the next update, and memory-mapped from there. Adding a
// turn never waits for the disk. BM25 over all segments equals that of one index.
//
// A file is valid only while the database names it, by a random number in both (ids and numbers alone could belong to
// another database), and its turns are still the conversation's, each with its number. Forgetting removes the files
// that contain its turns, inside its transaction; a file is registered inside one as well, after checking the turns
// again, so that none outlives what is forgotten.
//
// An index may be built by a thread with a store of its own and then be handed to another one (serve_from).
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "quern/memory/store/store.h"
#include "quern/recall/store/bm25_snapshot.h"

namespace quern::memory {

class TopicIndex {
 public:
  TopicIndex(ConversationStore& store, int64_t conversation) : store_(&store), conversation_(conversation) {}
  // Up to date with the table: what is known and still true stays, what is on disk is mapped, the rest is indexed.
  // With a token, by this thread alone, a segment at a time, and no further once it is asked to stop: the index is
  // then good for nothing but to be followed again.
  void follow(const TurnTable& table, const std::stop_token* stop = nullptr);
  void serve_from(ConversationStore& store) { store_ = &store; }
  void add(const StoredTurn& turn, std::string_view text);  // the newest one
  std::vector<recall::ScoredDocument> top(std::string_view query, size_t k,
                                          std::optional<std::span<const int64_t>> allowed = std::nullopt) const;
  uint64_t turns_with(std::string_view word) const;  // or with its stem; function words are in none
  // The same turns as rows of the table that it follows, ascending, from one row to another. Reads the word's postings in
  // these segments.
  std::vector<uint32_t> rows_with(std::string_view word, const TurnTable& table, RowRun among) const;
  bool has_unwritten() const;                        // a full segment that was not tried to be written
  size_t bytes() const;
  size_t mapped_segments() const;

 private:
  struct TopicSegment {
    std::unique_ptr<recall::Bm25Index> growing;
    std::unique_ptr<recall::Bm25Snapshot> mapped;
    std::vector<int32_t> responses;  // of `growing`
    bool kept = false;               // tried to be written
    recall::Bm25Part part() const { return growing ? growing->part() : mapped->part(); }
    std::span<const int32_t> numbers() const;
  };
  struct MissingTurns {
    int32_t segment;
    std::vector<int64_t> ids;
    std::vector<int32_t> responses;
    std::vector<std::string> texts;
  };
  bool map_file(int32_t segment, std::span<const int64_t> ids, std::span<const int32_t> responses);
  void keep(int32_t segment);
  ConversationStore* store_;
  int64_t conversation_;
  std::map<int32_t, TopicSegment> segments_;
};

}  // namespace quern::memory

// The words of a conversation's turns, kept so that a first question about a topic does not read them all again.
// Turns are indexed in segments of 65,536 response numbers. The last one grows in memory; one that is full is written
// beside the database (DB-topics/CONVERSATION-SEGMENT.bm25) when the index is next brought up to date, and mapped
// from there. Adding a turn never waits for the disk. BM25 over all segments is that of one index.
//
// A file counts only while the database names it, by a random number in both (the same ids and numbers are those of
// any other database too), and the turns it was made of are the conversation's still, each with its number.
// Forgetting removes the files its turns are in, inside its transaction; a file is given its name inside one as well,
// after another look at the turns, so that none outlives what is forgotten.
//
// An index may be made by a thread with a store of its own and then be handed to another one's (serve_from).
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
  std::vector<Hit> top(std::string_view query, size_t k,
                       std::optional<std::span<const int64_t>> allowed = std::nullopt) const;
  bool has_unwritten() const;  // a full segment that was not tried to be written
  size_t bytes() const;
  size_t mapped_segments() const;

 private:
  struct TopicSegment {
    std::unique_ptr<Bm25Index> growing;
    std::unique_ptr<Bm25Snapshot> mapped;
    std::vector<int32_t> responses;  // of `growing`
    bool kept = false;               // tried to be written
    Bm25Part part() const { return growing ? growing->part() : mapped->part(); }
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

// Synthetic retrieval tasks: long texts with questions whose answers lie in known chunks, made from a seed: hash
// chains (HashHop), chains of variables and needles (RULER's), and facts about who went where with what (bAbI's) in
// other text. The score is the share of questions for which every needed chunk is among the k retrieved.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/recall/mixpr/mixpr.h"

namespace quern::recall {

struct RecallQuestion {
  std::string text;
  std::vector<uint32_t> needed;  // chunks
};
struct RecallTask {
  std::string name, text;
  std::vector<Chunk> chunks;
  std::vector<RecallQuestion> questions;
  RecallOptions options;  // how such a text is indexed
  RecallQuery query;      // and asked
};

// Lines "H1 = H2", shuffled; a chain of `hops` steps has hops + 1 of them, the last one quoted.
RecallTask hash_hop_task(int64_t characters, int hops, int64_t questions, uint64_t seed);
// `chains` chains of `hops` assignments "VAR XQZ = VAR ABC" in repeated filler; asked for one by its value.
RecallTask variables_task(int64_t characters, int chains, int hops, int64_t questions, uint64_t seed);
// "The special magic number for word is: 123." between filler sentences; each asked for.
RecallTask needles_task(int64_t characters, int64_t questions, uint64_t seed);
// Twelve facts of the kinds "Mary took the football." and "Mary went to the garden."; "Where is the football?" needs
// who took it last and where they went last. `filler`: sentences around the facts; empty: made up.
RecallTask facts_task(int64_t characters, const std::vector<std::string>& filler, uint64_t seed);
std::vector<std::string> made_up_sentences(int64_t characters, uint64_t seed);

struct Share {  // of n, with the 95 % interval of Wilson
  int64_t n = 0, hits = 0;
  double low() const;
  double high() const;
  Json json() const;
};
struct RecallScore {
  Share mixpr, bm25;
  int64_t words = 0, bytes = 0, chunks = 0;
  double index_s = 0, mixpr_ms = 0, bm25_ms = 0;  // a median query
  void add(const RecallScore& other);             // of another text of the same task
  Json json() const;

 private:
  int64_t texts_ = 1;
};
RecallScore score_task(const RecallTask& task);

}  // namespace quern::recall

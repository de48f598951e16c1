// Long-term conversation memory with temporal queries. It stores every turn verbatim, searchable at once. A question
// is answered by
//
//   time expressions → rows of the conversation table;  the other words → BM25 among those rows;
//   neither          → what the question's context refers to
//
//   Memory m("talks.db", {.create = true, .conversation = "kitchen"});
//   m.add({"Ada", "The mill stands still on Sundays.", utc, offset});
//   MemoryResult r = m.ask("What did Ada say about the mill last Sunday?", {.now = …});
//
// A Memory may be used by one thread at a time. Other processes may write the same file: their turns are seen at the
// next question.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"
#include "quern/memory/ask/read_question.h"
#include "quern/memory/facts/fact_finder.h"
#include "quern/memory/plan/plan.h"
#include "quern/memory/store/store.h"
#include "quern/memory/time/zone.h"
#include "quern/memory/topic/near_meaning.h"
#include "quern/memory/topic/topic.h"
#include "quern/memory/topic/topic_builder.h"
#include "quern/memory/topic/topic_index.h"

namespace quern::memory {

struct MemoryOptions {
  bool create = false;            // the file and the conversation, when they are not there
  bool durable = false;           // wait for the disk at every turn
  std::string conversation = {};  // empty: the only one of the user
  std::string user = {};          // whose; empty: nobody's in particular
  std::string zone = {};  // of a conversation made now, UTC when empty; of one that is there it must be its own
  int64_t gap = 0;        // likewise, kUsualGap when 0
  int32_t topic_segment_turns = 1 << 16;
  bool background = false;  // make the index of words in a thread from now on, not in the first question's time
};

enum class Route : uint8_t { time, topic, both, neither };
const char* route_name(Route r);

// automatic: bm25; where a time or a speaker leaves few turns, its best one and then mixpr's.
enum class TopicRank : uint8_t { automatic, bm25, mixpr, both };
TopicRank topic_rank(std::string_view name);  // throws Error

struct AskOptions {
  LocalSeconds now = 0;           // on the wall of the conversation's zone
  std::optional<int32_t> offset;  // of that wall, seconds east of Greenwich; none: the zone's
  Semantics semantics = Semantics::strict;
  DateOrder order;
  int64_t k = 10;                    // rows a topic may give
  std::vector<ContextTurn> context;  // what was said before the question, oldest first
  std::string asker;                 // who "I" is
  bool speaker_filter = true;
  TopicRank rank = TopicRank::automatic;  // within the rows that are left; both: each share of its best, added
  double neighbor = 0.3;  // share of a neighboring turn's score that a turn gets: answers follow questions
};

// How often a topic was talked of.
struct OccurrenceCount {
  int64_t turns = 0, sessions = 0;
};

struct RowsWithWords {
  std::vector<uint32_t> rows;
  bool all = false;  // of the words; else as many as any row has
};

struct RankedTurn {
  int32_t response;
  double score;
};

struct MemoryResult {
  Route route = Route::neither;
  std::vector<int32_t> responses;  // of a time question: all rows, in order; of a topic: the k best, best first
  std::vector<RankedTurn> ranked;  // of a topic
  // Every turn of the time and the speaker, whether a topic was ranked among them or not: runs of response numbers.
  // Empty when neither restricts, and when there are more than 1,000 runs.
  std::vector<std::pair<int32_t, int32_t>> within;
  bool many_runs = false;
  Plan plan;
  std::string topic;
  // None of these turns has a word of the topic: they are the k of the time that the question names that come nearest to it
  // in meaning.
  bool unmatched = false;
  std::string reading;  // the question in plain English, when it was put into other words
  std::vector<std::string> notes;
  int64_t context_turn = -1;                        // whose time was taken
  std::optional<OccurrenceCount> occurrences = {};  // of a question for the first, the last, or how many
  Json json(int64_t conversation) const;
};

class Memory {
 public:
  explicit Memory(const std::filesystem::path& file, MemoryOptions options = {});
  StoredTurn add(const SpokenTurn& turn);
  std::vector<StoredTurn> add_all(const std::vector<SpokenTurn>& turns);
  MemoryResult ask(std::string_view question, const AskOptions& options);
  int64_t forget(const std::vector<int32_t>& responses);
  int64_t forget_all();  // the conversation, too: this object is of no more use
  const TurnTable& table();
  const std::vector<std::string>& speakers();
  std::string text(int32_t response);
  const ConversationInfo& info() const { return info_; }
  const Zone& zone() const { return zone_; }
  ConversationStore& store() { return store_; }
  LocalSeconds last_turn();  // on the wall; throws Error when there is none
  size_t resident_bytes() const;
  // Indexes what no question has needed yet, so that the first one about a topic does not wait for it.
  void index_topics();
  bool topics_ready() const { return index_ || (builder_ && builder_->done()); }

 private:
  void refresh();
  void resident(const StoredTurn& s, const SpokenTurn& t);
  const TopicIndex& index();
  std::vector<RankedTurn> rank(const std::string& topic, const Selection& rows, const AskOptions& o);
  std::vector<recall::ScoredDocument> best_among(const std::string& topic, const Selection& rows, size_t wanted,
                                                 const AskOptions& o);
  std::vector<recall::ScoredDocument> walked(const std::string& topic, std::span<const uint32_t> rows);
  std::vector<RankedTurn> ranked_rows(std::span<const recall::ScoredDocument> hits, const Selection& rows,
                                      const AskOptions& o);
  bool answered(uint32_t row);
  std::vector<RankedTurn> walk_behind_best(const std::string& topic, std::vector<RankedTurn> found,
                                           std::span<const recall::ScoredDocument> hits, const Selection& rows,
                                           const AskOptions& o);
  void leave_out(int32_t speaker, Selection& rows, MemoryResult& out) const;
  void tell_within(const Selection& rows, MemoryResult& out) const;
  EventSource events_until(int64_t utc);
  enum class TopicLeft : uint8_t { some, none };
  TopicLeft drop_unheard(Topic& topic, std::vector<std::string>& notes);
  bool by_fact(const ReadQuestion& read, const Clock& clock, const AskOptions& o, MemoryResult& out);
  bool by_foreign_fact(const ReadQuestion& read, const Clock& clock, const AskOptions& o, MemoryResult& out);
  std::vector<uint32_t> rows_for_fact(const EventSource& seen, const std::string& words);
  bool take_statement(const FactQuestion& fact, const std::vector<FactStatement>& all, LocalSeconds until,
                      const AskOptions& o, MemoryResult& out) const;
  bool of_unknown_asker(const ReadQuestion& read, const std::string& asker) const;
  void by_time(Selection& rows, MemoryResult& out) const;
  void by_topic(const Selection& rows, const Clock& clock, const AskOptions& o, MemoryResult& out);
  RowsWithWords rows_with(const std::vector<std::string>& words, const Selection& rows);
  void by_occurrence(const ReadQuestion& read, const Selection& rows, const Clock& clock, const AskOptions& o,
                     MemoryResult& out);
  void tell_miss(const Selection& rows, const Clock& clock, const AskOptions& o, MemoryResult& out);
  void show_unmatched(const Selection& rows, const AskOptions& o, MemoryResult& out);
  std::vector<uint32_t> rows_to_compare(const NearMeaning& meaning, const Selection& rows, const AskOptions& o);
  std::vector<uint32_t> nearest_in_meaning(const std::string& topic, const Selection& rows, const AskOptions& o);
  size_t row_of(int32_t response);
  ConversationStore store_;
  ConversationInfo info_;
  Zone zone_;
  TurnTable table_;
  std::vector<std::string> speakers_;
  std::unique_ptr<TopicBuilder> builder_;
  std::unique_ptr<TopicIndex> index_;
  bool index_behind_ = true;  // the table holds turns that the index may not
  int64_t version_ = -1, epoch_ = -1, next_response_ = 0;
  bool loaded_ = false;
};

}  // namespace quern::memory

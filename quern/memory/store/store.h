// Conversation store: every turn verbatim in one SQLite file (write-ahead log). A turn is acknowledged when its
// transaction is in the log, so killing the process loses none; `durable` also waits for the disk, so that a power cut
// cannot undo it. Forgetting overwrites the bytes, in the file and in the log. A new session begins after `gap`
// seconds of silence. Numbers of responses and sessions never change.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quern/memory/plan/plan.h"
#include "quern/memory/store/sqlite.h"

namespace quern::memory {

constexpr size_t kMaxTurnBytes = size_t{64} << 20;
constexpr int64_t kUsualGap = 20 * 60;

struct ConversationInfo {
  int64_t id = 0;
  std::string name, zone;
  int64_t gap = kUsualGap;
  int64_t turns = 0, sessions = 0;
};

struct SpokenTurn {
  std::string speaker, text;
  int64_t utc = 0;
  int32_t offset = 0;  // of the speaker's wall clock, seconds east
};

struct StoredTurn {
  int64_t id = 0;
  int32_t response = 0, session = 0, speaker = 0;
};

class ConversationStore {
 public:
  struct Options {
    bool create = false, durable = false;
    int32_t topic_segment_turns = 1 << 16;
  };
  ConversationStore(const std::filesystem::path& file, Options options);  // ":memory:" keeps everything in memory
  std::vector<ConversationInfo> conversations();
  // The one of that name; without a name the only one. Throws Error naming those there are.
  ConversationInfo find(const std::string& name);
  std::optional<ConversationInfo> look_up(const std::string& name);
  ConversationInfo create(const std::string& name, const std::string& zone, int64_t gap);
  StoredTurn append(int64_t conversation, const SpokenTurn& turn);  // one transaction
  // Many turns as one transaction; nothing of it stays when one is refused.
  std::vector<StoredTurn> append_all(int64_t conversation, const std::vector<SpokenTurn>& turns);
  TurnTable load(const ConversationInfo& conversation);
  std::vector<std::string> speakers(int64_t conversation);                       // by their number in the table
  TurnTable load_after(const ConversationInfo& conversation, int32_t response);  // later turns only
  int64_t count(int64_t conversation);                                           // of its turns
  void each_turn(int64_t conversation, int32_t first, int32_t last,              // response numbers
                 const std::function<void(int64_t id, std::string_view text)>& f);
  // Files of the index of words (topic_index.h), beside the database; empty for one in memory.
  std::filesystem::path topic_file(int64_t conversation, int32_t segment) const;
  int32_t topic_segment_turns() const { return topic_segment_turns_; }
  // The random number in the one file of the segment that is this database's.
  std::optional<int64_t> topic_token(int64_t conversation, int32_t segment);
  // Gives `fresh` the segment's name while it still holds `turns` turns; else removes it and returns false.
  bool give_topic_file(int64_t conversation, int32_t segment, int64_t turns, int64_t token,
                       const std::filesystem::path& fresh);
  std::string text(int64_t id);
  int64_t forget(int64_t conversation, const std::vector<int64_t>& ids);  // returns how many there were
  int64_t forget_conversation(int64_t conversation);
  int64_t data_version();  // changes when another connection wrote
  void check();            // throws Error unless the file is sound

 private:
  StoredTurn insert(int64_t conversation, const SpokenTurn& turn);
  int32_t speaker_number(int64_t conversation, const std::string& name);
  void erase_remains();
  bool has_topic_table();
  enum class TopicFiles { complete, all };  // all: those that a crash left unfinished too
  std::vector<std::filesystem::path> strange_topic_files(TopicFiles which);
  void remove_strange_topic_files(TopicFiles which);
  void remove_topic_files(int64_t conversation, const std::set<int32_t>* segments,
                          const std::filesystem::path& but = {});
  SqliteFile db_;
  bool in_memory_ = false;
  int32_t topic_segment_turns_ = 1 << 16;
  std::optional<SqliteStatement> last_, insert_, speaker_, note_;
};

}  // namespace quern::memory

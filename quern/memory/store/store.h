// Conversation store: every turn verbatim in one SQLite file (write-ahead log). A turn is acknowledged when its
// transaction is in the log, so killing the process loses none; `durable` also waits for the disk, so that a power cut
// cannot undo it. Forgetting overwrites the bytes, in the file and in the log. A new session begins after `gap`
// seconds of silence.
//   Turns may come late: numbers of responses are those of arrival and never change; sessions are numbered by time, so a
// late turn that begins one moves the numbers of the sessions behind it by one. A conversation belongs to a user, or to
// nobody in particular (""); names are unique within a user.
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
  std::string name = {}, zone = {}, user = {};
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
  bool late = false;            // others of the conversation are later
  bool moved_sessions = false;  // those behind it have a number more than before
};

struct ConversationState {
  int64_t next_response = 0;
  int64_t epoch =
      -1;  // another one: turns were forgotten, or sessions have other numbers; -1: the conversation is gone
};

class ConversationStore {
 public:
  struct Options {
    bool create = false, durable = false;
    int32_t topic_segment_turns = 1 << 16;
  };
  ConversationStore(const std::filesystem::path& file, Options options);  // ":memory:" keeps everything in memory
  std::vector<ConversationInfo> conversations();  // with their turns and sessions counted: linear in the turns
  std::vector<ConversationInfo> names();          // without
  // The one of that name; without a name the only one of the user. Throws Error naming those there are.
  ConversationInfo find(const std::string& name, const std::string& user = {});
  std::optional<ConversationInfo> look_up(const std::string& name, const std::string& user = {});
  std::optional<ConversationInfo> look_up(int64_t id);
  ConversationInfo create(const std::string& name, const std::string& zone, int64_t gap,
                          const std::string& user = {});
  StoredTurn append(int64_t conversation, const SpokenTurn& turn);  // one transaction
  // Many turns as one transaction: their sessions do not depend on the order in which they are given. Nothing of it stays
  // when one is refused.
  std::vector<StoredTurn> append_all(int64_t conversation, const std::vector<SpokenTurn>& turns);
  TurnTable load(const ConversationInfo& conversation);
  std::vector<std::string> speakers(int64_t conversation);                       // by their number in the table
  TurnTable load_after(const ConversationInfo& conversation, int32_t response);  // later turns only
  ConversationState state(int64_t conversation);
  void each_turn(int64_t conversation, int32_t first, int32_t last,  // response numbers
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
  enum class Placing { now, later, together };  // later: of turns that are late; together: of all
  StoredTurn insert(int64_t conversation, const SpokenTurn& turn, Placing placing);
  struct SessionPlace {
    int32_t session;
    bool late, opened, moved;
  };
  SessionPlace place_late(int64_t conversation, int64_t utc, int64_t gap, int32_t last);
  void place_all_late(int64_t conversation);
  void upgrade();
  void begin_epoch(int64_t conversation);
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
  std::optional<SqliteStatement> last_, insert_, speaker_, note_, text_;
};

}  // namespace quern::memory

// Open conversations of one memory file, for many threads: a conversation belongs to one thread at a time, others go on with
// theirs. Those not used for long are closed. What other processes delete or make is seen at the next use.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quern/memory/ask/memory.h"

namespace quern::memory {

struct ConversationName {
  std::string user = {};  // empty: nobody's in particular
  std::string name = {};
  auto operator<=>(const ConversationName&) const = default;
};

struct PoolOptions {
  std::filesystem::path file;  // made when it is not there
  std::string zone = "UTC";    // of conversations made now
  bool durable = false;        // a turn is on the disk when it is acknowledged
  bool background = false;     // indexes of words are made before anybody asks for them
  size_t max_open = 32;        // each holds its table and its index
};

class ConversationPool {
  struct Talk {
    std::mutex mutex;
    std::unique_ptr<Memory> memory;
    uint64_t used = 0;
  };

 public:
  class Held {  // one conversation, for this thread alone while it lives
   public:
    Memory& operator*() const { return *talk_->memory; }
    Memory* operator->() const { return talk_->memory.get(); }

   private:
    friend class ConversationPool;
    std::shared_ptr<Talk> talk_;
    std::unique_lock<std::mutex> lock_;
  };

  explicit ConversationPool(PoolOptions options);  // throws Error when the file cannot be opened
  // The conversation, made now if there is none; zone: of a new one, else the pool's.
  Held open(const ConversationName& name, const std::string& zone = {});
  std::optional<Held> find(const ConversationName& name);
  Held need(const ConversationName& name);  // throws Error naming those there are
  std::optional<ConversationName> name_of(int64_t id);
  std::vector<ConversationInfo> list();          // with their turns counted
  std::vector<ConversationInfo> names();         // without
  int64_t forget(const ConversationName& name);  // returns how many turns it had; throws Error where there is none
  const PoolOptions& options() const { return options_; }

 private:
  Held hold(const ConversationInfo& info);
  std::shared_ptr<Talk> talk(const ConversationName& name);
  const PoolOptions options_;
  std::mutex mutex_;  // of what follows
  ConversationStore catalog_;
  std::map<ConversationName, std::shared_ptr<Talk>> talks_;
  uint64_t uses_ = 0;
};

}  // namespace quern::memory

// The Batch API: requests of an input file, run after and next to what clients ask directly, their answers in an output
// file. A batch continues where it was when the server starts again with the same folder.
//   Priority: kLines run at once while nobody else asks, and one at a time while clients are served. While their requests
//   wait, a line begins in its turn only (turn.h), so that a batch ends on a server that is always full, too.
//   Lines run for the key that made the batch. While its limits let nothing in, other batches have their turn.
#pragma once
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "quern/serve/batch/batch_file.h"
#include "quern/serve/batch/file_store.h"
#include "quern/serve/batch/turn.h"
#include "quern/serve/http/memory_exchange.h"

namespace quern::serve {

struct LineEnd {
  bool again = false;        // it was not let in, and is to be tried once more
  double after_seconds = 0;  // then, and no line of its batch before
};
struct BatchHooks {
  // Answers a request for the key of this name (empty: there were no keys), errors included.
  std::function<LineEnd(Exchange&, const std::string& key, LineStart start)> serve;
  std::function<bool()> clients_wait;  // requests of clients are in a queue
  std::function<bool()> clients_run;   // or are being served
  TurnRule turn = {};
};

class BatchRunner {
 public:
  static constexpr int kLines = 4;
  BatchRunner(const std::filesystem::path& folder, BatchHooks hooks);  // folder empty: one that ends with the server
  ~BatchRunner();
  void stop();  // begins nothing more, and gives up the lines that run: the next server runs them

  FileStore& files() { return files_; }
  // key: whom its lines are for, see BatchHooks::serve. A batch that a caller does not reach is for it none.
  Json create(const Json& body, const Caller& who, const std::string& key);
  Json get(const std::string& id, const Caller& who) const;  // or a 404
  Json cancel(const std::string& id, const Caller& who);     // or a 404, or a 409
  Json list(const PageRequest& page, const Caller& who) const;

 private:
  struct Batch {
    Json facts;              // the object of the API
    std::string owner, key;  // whose it is (Caller::owner), and the key that made it
    std::vector<BatchLine> lines = {};
    size_t next = 0;                 // of the lines, to be run
    std::vector<size_t> again = {};  // lines that a full server refused
    int running = 0;                 // lines
    bool begun = false, cancelled = false;
    Turn::Clock::time_point not_before = {};  // the key's limits let in no line until then
    std::set<MemoryExchange*> exchanges = {};
    std::string id() const { return facts.at("id").as_string(); }
    std::string status() const { return facts.at("status").as_string(); }
    bool open() const;
    bool has_line() const { return !again.empty() || next < lines.size(); }
    size_t take_line();
  };
  using Shared = std::shared_ptr<Batch>;

  void load();
  void work(const std::stop_token& stop, int worker);
  Shared next_batch();   // that has something to do; under the lock
  void begin(Batch& b);  // reads the input; under the lock
  // False: a full server refused it, and it is to be tried again.
  bool run_line(const Shared& b, LineStart start, std::unique_lock<std::mutex>& lock);
  void settle(Batch& b);                      // when nothing of it runs any more
  void finish(Batch& b, const char* status);  // its files
  void set_status(Batch& b, const char* status) const;
  void count(Batch& b, const char* what) const;
  void save(const Batch& b) const;
  void append(const Batch& b, const char* ending, const std::string& line) const;
  std::filesystem::path path_of(const std::string& id, const char* ending) const;
  Shared find(const std::string& id, const Caller& who) const;

  StateFolder folder_;
  FileStore files_;
  BatchHooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Shared> batches_;  // the oldest first
  Turn turn_;                  // of the first worker
  bool stopping_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace quern::serve

// Shares of the engine between users, by the virtual token counter of Sheng et al. (2024, arXiv 2401.00588): a counter per
// user grows with the tokens of its requests, and of the users that wait the one with the smallest counter is served next.
// A user that begins to wait is lifted to the smallest counter among those that wait already: having been idle earns no
// credit. Counters of users that neither wait nor were served lately are forgotten.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

namespace quern::infer {

class FairShare {
 public:
  static constexpr int64_t kGeneratedWeight = 2;  // of a generated token, in prompt tokens; as in the paper
  static constexpr size_t kMaxIdle = 1024;        // users remembered that have nothing waiting

  void begin_waiting(const std::string& user);  // once per request
  void end_waiting(const std::string& user);    // it was admitted or cancelled
  void charge(const std::string& user, int64_t tokens);
  int64_t spent(const std::string& user) const;
  size_t users() const { return accounts_.size(); }

 private:
  struct Account {
    int64_t spent = 0, waiting = 0;
  };
  void forget_idle();
  std::unordered_map<std::string, Account> accounts_;
  int64_t last_ = 0;  // the counter of the last user that ended waiting
};

}  // namespace quern::infer

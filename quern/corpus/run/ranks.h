// The ranks a run is distributed over: those of a communicator, or a single process. All ranks see the same inputs and
// the same output folder; the exchanged data is small.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "quern/comm/communicator.h"

namespace quern::corpus {

class Ranks {
 public:
  explicit Ranks(comm::Communicator* c = nullptr) : c_(c && c->size() > 1 ? c : nullptr) {}
  int rank() const { return c_ ? c_->rank() : 0; }
  int size() const { return c_ ? c_->size() : 1; }
  bool first() const { return rank() == 0; }
  bool alone() const { return !c_; }
  void barrier() const {
    if (c_) c_->barrier();
  }
  bool any(bool mine) const { return c_ ? c_->all_reduce(int64_t{mine}, comm::ReduceOp::max) != 0 : mine; }
  uint64_t sum(uint64_t mine) const {
    return c_ ? static_cast<uint64_t>(c_->all_reduce(static_cast<int64_t>(mine))) : mine;
  }
  // Every rank's text, in their order; the first rank's for all.
  std::vector<std::string> texts(std::string mine) const {
    if (c_) return c_->all_gather_text(mine);
    std::vector<std::string> one;
    one.push_back(std::move(mine));
    return one;
  }
  std::string from_first(const std::string& mine) const { return c_ ? c_->broadcast_text(mine) : mine; }
  // Every rank's values one after the other.
  template <class T>
  std::vector<T> gather(const std::vector<T>& mine) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!c_) return mine;
    std::vector<T> all;
    for (const std::string& t :
         c_->all_gather_text(std::string(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(T)))) {
      const size_t at = all.size();
      all.resize(at + t.size() / sizeof(T));
      if (!t.empty()) std::memcpy(static_cast<void*>(all.data() + at), t.data(), t.size());
    }
    return all;
  }

 private:
  comm::Communicator* c_;
};

}  // namespace quern::corpus

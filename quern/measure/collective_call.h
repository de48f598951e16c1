// One collective on buffers of one size, to be called again and again. All numbers are zero, so that sums stay small.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/comm/communicator.h"
#include "quern/comm/tree.h"
#include "quern/comm/two_level.h"
#include "quern/measure/collectives.h"

namespace quern::measure {

class CollectiveCall {
 public:
  // bytes: of floats, see collectives.h; levels: for collectives in two
  CollectiveCall(comm::Communicator& c, Collective what, int64_t bytes, comm::TwoLevels* levels = nullptr);
  void run();
  Collective what() const { return what_; }
  static int ways(Collective what) { return what == Collective::message ? 2 : 1; }  // of a call: there and back
  comm::Transfer start();  // of reduce_scatter, all_gather, all_to_all

 private:
  void there_and_back();
  void shift();
  comm::Communicator& c_;
  Collective what_;
  comm::TwoLevels* levels_;
  Tensor in_, out_;
  std::vector<int64_t> counts_;
  comm::CommSchedule schedule_;
  comm::RecordMerge add_;
  int root_ = 0;  // of the next broadcast: another each time, or the root would run ahead of the others
};

}  // namespace quern::measure

// What pairs of answers say of the model that learns from them, summed over a step.
#pragma once
#include "quern/comm/communicator.h"

namespace quern::train {

struct PreferenceStats {
  double pairs = 0, loss = 0, chosen = 0, rejected = 0,
         right = 0;  // rewards; pairs whose chosen answer has the larger
  void add(double its_loss, double chosen_reward, double rejected_reward) {
    ++pairs, loss += its_loss, chosen += chosen_reward, rejected += rejected_reward;
    right += chosen_reward > rejected_reward;
  }
  void all_reduce(comm::Communicator& comm) {
    for (double* x : {&pairs, &loss, &chosen, &rejected, &right}) *x = comm.all_reduce(*x);
  }
  double mean(double sum) const { return pairs > 0 ? sum / pairs : 0; }
};

}  // namespace quern::train

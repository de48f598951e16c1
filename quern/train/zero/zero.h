// ZeRO stage 1: every rank has all weights and the gradients of its own sequences, but optimizer state and the update
// of an even share only.
//
// Parameters are laid out last layer first (backward reaches it first), in buckets of about `bucket_elements`; a
// bucket's flat elements are split evenly over ranks, wherever that falls, even inside a matrix row. A bucket's
// reduction starts when the last backward of a step has finished its gradients (Tape::on_grad_ready) and overlaps the
// rest of the backward. Sums are those of all_reduce, element by element in rank order, so training equals the
// unsharded one except for the rounding of the gradient norm (its double sum is taken piece by piece). After the
// update the values are gathered to all ranks, first layer first, overlapping the next forward, which waits for a
// bucket when it asks for one of its parameters (Tape::on_parameter). Matrices that an optimizer must see whole are
// assembled at an owner (zero_matrices.h). Volume per rank and step: (n−1)/n·4 bytes per element each way, as a plain
// all_reduce.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quern/comm/communicator.h"
#include "quern/optim/groups.h"

namespace quern::train {

class ZeroShards {
 public:
  ZeroShards(nn::Module& model, comm::Communicator& comm, int64_t bucket_elements);
  ~ZeroShards();

  optim::OwnPiece own(const std::string& name, grad::Parameter& p,
                      const optim::Optimizer& rule);  // OptimizerGroups asks
  bool holds(const grad::Parameter& p) const {
    return places_.contains(&p);
  }                                                             // false: whole on every rank, not summed here
  comm::Range piece(const grad::Parameter& p, int rank) const;  // elements of p

  // A step: ready() for parameters as their last gradient is there (as many as one likes), then finish(): all pieces
  // have their piece of the summed gradient, the parameters' own gradients are gone.
  void ready(const grad::Parameter& p);
  void finish();
  double sum_of_grad_squares() const;   // over all ranks
  void gather();                        // after the update: every rank's pieces of the values set out to all
  void need(const grad::Parameter& p);  // p's values are about to be read: waits for them
  void settle();                        // waits for all
  int buckets() const { return static_cast<int>(buckets_.size()); }
  int early() const { return early_; }  // buckets of the last step that went out before finish()

 private:
  struct Position {
    size_t bucket;
    int64_t offset;  // in the bucket
    grad::Parameter* whole;
    std::unique_ptr<grad::Parameter> piece;
    bool ready = false;
  };
  struct Bucket {
    std::vector<Position*> places;
    int64_t size = 0;
    size_t missing = 0;
    Tensor flat, shard;  // gradients on their way, and this rank's piece of their sum
    comm::Transfer transfer;
    Tensor mine, all;  // values on their way: this rank's piece, and everybody's
    comm::Transfer values;
  };
  void send_filled();
  void send(Bucket& b);
  void arrive(Bucket& b);

  comm::Communicator& comm_;
  std::map<const grad::Parameter*, Position> places_;
  std::vector<Bucket> buckets_;
  size_t sent_ = 0;  // buckets go out in this order on every rank
  int early_ = 0;
  size_t moving_ = 0;  // buckets whose values have not arrived
};

}  // namespace quern::train

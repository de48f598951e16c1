#include "quern/train/trainer/train_state.h"

namespace quern::train {
namespace {

// State that lies here for a piece of the parameter alone.
bool in_pieces(const optim::OptimizerSlot& slot, const optim::OptimizerPart& part) {
  return slot.parameter != slot.whole && part.shape == slot.whole->shape;
}

Piece piece_here(const optim::OptimizerSlot& slot, const Tensor& t) {
  return Piece::flat(slot.whole->shape, slot.begin, slot.begin + t.size());
}

}  // namespace

std::vector<TensorPiece> train_state(nn::Module& learner, optim::OptimizerGroups& optimizer,
                                     const comm::Communicator& comm) {
  std::vector<TensorPiece> pieces;
  learner.visit("", [&](const std::string& name, grad::Parameter& p) {
    pieces.push_back(flat_share(name, "weight", p.value, comm));
  });
  optimizer.visit_state([&](const optim::OptimizerSlot& slot, const optim::OptimizerPart& part, Tensor& t) {
    if (in_pieces(slot, part))
      pieces.push_back({slot.name, part.role, slot.whole->shape, piece_here(slot, t), t});
    else
      pieces.push_back(flat_share(slot.name, part.role, t, comm));
  });
  return pieces;
}

std::vector<std::string> load_train_state(const CheckpointReader& from, nn::Module& learner,
                                          optim::OptimizerGroups& optimizer) {
  auto fill = [&](const StoredTensor& stored, const Shape& shape, const Piece& piece, const Tensor& t) {
    if (stored.shape != shape || stored.dtype != t.dtype())
      fail("{}: {} ({}) is {} {}, this run needs {} {}", from.folder().string(), stored.name, stored.role,
           dtype_name(stored.dtype), to_string(stored.shape), dtype_name(t.dtype()), to_string(shape));
    from.read_into(stored, piece, {static_cast<std::byte*>(t.raw()), static_cast<size_t>(t.bytes())});
  };
  learner.visit("", [&](const std::string& name, grad::Parameter& p) {
    fill(from.at(name, "weight"), p.value.shape(), Piece::whole(p.value.shape()), p.value);
  });
  std::vector<std::string> fresh;
  optimizer.visit_state([&](const optim::OptimizerSlot& slot, const optim::OptimizerPart& part, Tensor& t) {
    if (const StoredTensor* stored = from.find(slot.name, part.role))
      fill(*stored, part.shape, in_pieces(slot, part) ? piece_here(slot, t) : Piece::whole(t.shape()), t);
    else
      t.fill(0), fresh.push_back(fmt::format("{} ({})", slot.name, part.role));
  });
  return fresh;
}

}  // namespace quern::train

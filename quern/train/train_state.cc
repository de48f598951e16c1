#include "quern/train/train_state.h"

namespace quern {

std::vector<TensorPiece> train_state(Model& model, OptimizerGroups& optimizer, const Communicator& comm) {
  std::vector<TensorPiece> pieces;
  model.visit("", [&](const std::string& name, Parameter& p) {
    pieces.push_back(flat_share(name, "weight", p.value, comm));
  });
  optimizer.visit_state([&](const OptimizerSlot& slot, const OptimizerPart& part, Tensor& t) {
    pieces.push_back(flat_share(slot.name, part.role, t, comm));
  });
  return pieces;
}

std::vector<std::string> load_train_state(const CheckpointReader& from, Model& model, OptimizerGroups& optimizer) {
  auto fill = [&](const StoredTensor& stored, const Tensor& t) {
    if (stored.shape != t.shape() || stored.dtype != t.dtype())
      fail("{}: {} ({}) is {} {}, this run needs {} {}", from.folder().string(), stored.name, stored.role,
           dtype_name(stored.dtype), to_string(stored.shape), dtype_name(t.dtype()), to_string(t.shape()));
    from.read_into(stored, Piece::whole(t.shape()),
                   {static_cast<std::byte*>(t.raw()), static_cast<size_t>(t.bytes())});
  };
  model.visit("", [&](const std::string& name, Parameter& p) { fill(from.at(name, "weight"), p.value); });
  std::vector<std::string> fresh;
  optimizer.visit_state([&](const OptimizerSlot& slot, const OptimizerPart& part, Tensor& t) {
    if (const StoredTensor* stored = from.find(slot.name, part.role))
      fill(*stored, t);
    else
      t.fill(0), fresh.push_back(fmt::format("{} ({})", slot.name, part.role));
  });
  return fresh;
}

}  // namespace quern

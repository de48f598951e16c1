// Says on stderr, once, that a model without positions has read more tokens than it was trained on: nothing stops it
// there, and nobody has seen how well it answers.
#pragma once
#include <memory>
#include <string>

#include "quern/models/model_wrapper.h"

namespace quern::cli {

class LengthNote : public models::ModelWrapper {
 public:
  LengthNote(std::unique_ptr<models::Model> model, std::string name);
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override;

 private:
  std::unique_ptr<models::Model> model_;
  std::string name_;
  int64_t trained_;
  bool said_ = false;
};

}  // namespace quern::cli

// Converts a committed checkpoint: reshards it for another number of ranks and, on request, rewrites it for another
// architecture. The tensors of the checkpoint become sources; the operations of a rewrite replace them; the result is
// written chunk by chunk in even flat pieces. Memory is a few chunks, whatever the size.
//
// An operation applies to every role of the tensors it names, to optimizer state as to the weight. Exceptions: parts
// of shape [1] (step counts) of a larger parameter are carried along whole, and where new values are made (upcycle,
// resize) optimizer state starts from zero.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/models/layout.h"
#include "quern/nn/registry.h"
#include "quern/train/reshape/source.h"

namespace quern::train {

struct LogicalTensor {
  std::string name, role;
  Source source;
};
using LogicalTensors = std::vector<LogicalTensor>;

LogicalTensors logical_tensors(const std::shared_ptr<const CheckpointReader>& reader);

// `operations` is the array `rewrite` of a TOML file (docs/checkpoints.md); `where` names the file in messages. An
// operation may be named after a family whose other layout is registered.
void rewrite(LogicalTensors& tensors, const Json& operations, const nn::Registry& registry, const std::string& where);

// From or to a family's other layout (models/layout.h); fields: {to: legacy or current, config: a path}.
void change_layout(LogicalTensors& tensors, const nn::Registry& registry, const std::string& family,
                   const Json& fields, const std::string& where);

// Parts of one (…{over} = 0, 1, 2, …) into one tensor with a new axis, and back.
void stack(LogicalTensors& tensors, const std::string& from, const std::string& over, const std::string& to,
           int64_t axis, const std::string& where);
void unstack(LogicalTensors& tensors, const std::string& from, const std::string& over, const std::string& to,
             int64_t axis, const std::string& where);

struct ReshapeOptions {
  int64_t ranks = 1;
  std::filesystem::path rewrite = {};  // a TOML file; empty: none
  int64_t chunk_bytes = int64_t{16} << 20;
  std::function<void(int64_t done, int64_t total)> progress = {};  // bytes
};
struct ReshapeReport {
  std::filesystem::path from, to;  // step folders
  int64_t step = 0, tensors_in = 0, tensors_out = 0, bytes_in = 0, bytes_out = 0;
};

// `from`: a step folder, or a folder of them (the newest committed is taken). `to`: the folder step_N is made in.
ReshapeReport reshape(const nn::Registry& registry, const std::filesystem::path& from,
                      const std::filesystem::path& to, const ReshapeOptions& options);

}  // namespace quern::train

// The two containers of torch.save: a pickle, and where the storages that it names lie in the file.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "quern/tensor/dtype.h"
#include "quern/tensor/pickle.h"

namespace quern {

// Elements as a storage has them. Storages without a type count bytes.
struct TorchType {
  std::string_view name;
  DType dtype;   // as read
  int64_t size;  // as stored, in bytes
};

struct TorchStorage {
  TorchType type;
  size_t begin = 0;   // in the file
  int64_t count = 0;  // of elements
};

struct TorchObject {
  Pickle pickle;
  // Where the storage of a persistent value of that pickle lies; throws Error when it does not fit the file.
  std::function<TorchStorage(const Pickle&, Pickle::Value)> storage;
};

// `bytes` must outlive the object. Throws Error when they are no file of torch.save.
TorchObject read_torch_object(std::span<const std::byte> bytes, const std::string& where);

// What a pickle may ask for, by the names that the reader of tensors needs.
namespace torch_names {
constexpr std::string_view kTensor = "torch._utils._rebuild_tensor_v2", kTyped = "torch._utils._rebuild_tensor_v3",
                           kParameter = "torch._utils._rebuild_parameter",
                           kParameterWithState = "torch._utils._rebuild_parameter_with_state";
}
// The element type called `name`, such as torch.float8_e4m3fn; null for another name.
const TorchType* torch_element_type(std::string_view name);

}  // namespace quern

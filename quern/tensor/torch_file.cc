// Finds the state dict of an object of torch.save, and checks and reads its tensors.
#include "quern/tensor/torch_file.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "quern/base/mmap.h"
#include "quern/tensor/torch_storages.h"

namespace quern {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

// A view may say the same elements many times over; small ones do (masks, positions).
constexpr int64_t kMaxRepeated = int64_t{1} << 20;
constexpr int kMaxWrappers = 4;
constexpr std::string_view kWrappers[] = {"state_dict", "model_state_dict", "model", "module"};

std::string_view word(Kind kind) {
  switch (kind) {
    case Kind::call:
      return "a tensor";
    case Kind::dict:
      return "a dict";
    case Kind::list:
    case Kind::tuple:
      return "a list";
    default:
      return "a value";
  }
}

// What an object holds, for a message: "'epoch' (a value), 'layers' (a list)".
std::string listing(const Pickle& p, std::span<const Value> items) {
  std::string s;
  for (size_t i = 0; i + 1 < std::min<size_t>(items.size(), 16); i += 2)
    s += fmt::format("{}'{}' ({})", i ? ", " : "", printable(p.text(items[i]), 40), word(items[i + 1].kind));
  return s + (items.size() > 16 ? ", …" : "");
}

std::span<const Value> state_dict(const Pickle& p, const std::string& where) {
  Value v = p.root();
  for (int depth = 0; depth <= kMaxWrappers; ++depth) {
    if (v.kind != Kind::dict) fail("{}: holds {}, expected a state dict", where, word(v.kind));
    const auto items = p.items(v);
    std::optional<Value> inner;
    std::string_view name;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const std::string_view key = p.text(items[i]);
      if (items[i + 1].kind != Kind::dict ||
          std::find(std::begin(kWrappers), std::end(kWrappers), key) == std::end(kWrappers))
        continue;
      if (inner) fail("{}: holds state dicts under both '{}' and '{}': save one of them alone", where, name, key);
      inner = items[i + 1], name = key;
    }
    if (inner) {
      v = *inner;
      continue;
    }
    for (size_t i = 1; i < items.size(); i += 2)
      if (items[i].kind == Kind::call) return items;
    fail(
        "{}: holds no tensors but {}; expected a state dict, or one under state_dict, model_state_dict, model or "
        "module",
        where, items.empty() ? "nothing" : listing(p, items));
  }
  fail("{}: more than {} dicts around the state dict", where, kMaxWrappers);
}

Shape extents(const Pickle& p, Value v, const std::string& what) {
  const auto items = p.items(v);
  if (v.kind != Kind::tuple || items.size() > Shape::kMaxDims)
    fail("{}: a shape of {} extents, at most {} are supported", what, items.size(), Shape::kMaxDims);
  Shape s;
  for (const Value& x : items) {
    if (x.kind != Kind::integer || x.integer() < 0) fail("{}: an extent that is no count", what);
    s.push_back(x.integer());
  }
  return s;
}

// The call that makes the tensor, without the parameter that may be around it.
std::span<const Value> tensor_call(const Pickle& p, Value v, const std::string& what) {
  auto call = p.items(v);
  if (const std::string_view name = p.name(call[0]);
      name == torch_names::kParameter || name == torch_names::kParameterWithState) {
    const auto arguments = p.items(call[1]);
    if (arguments.empty() || arguments[0].kind != Kind::call) fail("{}: a parameter without a tensor", what);
    call = p.items(arguments[0]);
  }
  if (const std::string_view name = p.name(call[0]); name != torch_names::kTensor && name != torch_names::kTyped)
    fail("{}: a parameter of a parameter", what);
  return call;
}

TorchFile::Entry entry(const TorchObject& o, Value v, const std::string& what) {
  const Pickle& p = o.pickle;
  const auto call = tensor_call(p, v, what);
  const auto args = p.items(call[1]);
  if (args.size() < 6 || args[0].kind != Kind::persistent || args[1].kind != Kind::integer)
    fail("{}: a tensor without storage, offset, shape and strides", what);
  TorchStorage storage = o.storage(p, args[0]);
  if (p.name(call[0]) == torch_names::kTyped) {
    const TorchType* type =
        args.size() > 6 && args[6].kind == Kind::global ? torch_element_type(p.name(args[6])) : nullptr;
    if (!type || storage.type.size != 1 || storage.count % type->size != 0)
      fail("{}: a storage of bytes whose element type is not known", what);
    storage.type = *type, storage.count /= type->size;
  }
  TorchFile::Entry e{
      storage.type.name, storage.type.dtype, extents(p, args[2], what), extents(p, args[3], what), 0, 0};
  if (e.shape.size() != e.strides.size())
    fail("{}: shape {} and strides {} differ in rank", what, to_string(e.shape), to_string(e.strides));
  int64_t count = 1, bytes = 0, last = args[1].integer();
  bool overflow = last < 0;
  for (size_t d = 0; d < e.shape.size(); ++d) {
    int64_t reach = 0;
    overflow = __builtin_mul_overflow(count, e.shape[d], &count) || overflow;
    overflow = __builtin_mul_overflow(std::max<int64_t>(e.shape[d] - 1, 0), e.strides[d], &reach) || overflow;
    overflow = __builtin_add_overflow(last, reach, &last) || overflow;
  }
  overflow = __builtin_mul_overflow(count, dtype_size(e.dtype), &bytes) || overflow;
  if (overflow || (count > 0 && last >= storage.count))
    fail("{}: shape {} with strides {} from element {} does not fit a storage of {} elements", what,
         to_string(e.shape), to_string(e.strides), args[1].integer(), storage.count);
  if (count > storage.count && count > kMaxRepeated)
    fail("{}: shape {} repeats the {} elements of its storage: save it as a copy, tensor.contiguous()", what,
         to_string(e.shape), storage.count);
  e.begin = storage.begin, e.end = storage.begin;
  if (count > 0) {
    e.begin += static_cast<size_t>(args[1].integer() * storage.type.size);
    e.end += static_cast<size_t>((last + 1) * storage.type.size);
  }
  return e;
}

template <class T>
void gather(const std::byte* from, int64_t n, int64_t stride, std::byte*& to) {
  for (int64_t i = 0; i < n; ++i, to += sizeof(T)) std::memcpy(to, from + i * stride, sizeof(T));
}

// The elements of a view, in order. `size`: of an element.
void copy_view(const std::byte* from, Shape shape, Shape strides, int64_t size, std::byte* to) {
  if (shape.empty()) shape.push_back(1), strides.push_back(1);
  const int64_t n = shape.back(), step = strides.back() * size;
  shape.pop_back(), strides.pop_back();
  const int64_t rows = element_count(shape);
  Shape at(shape.size(), 0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
    const std::byte* p = from + offset * size;
    if (step == size)
      std::memcpy(to, p, static_cast<size_t>(n * size)), to += n * size;
    else if (size == 1)
      gather<uint8_t>(p, n, step, to);
    else if (size == 2)
      gather<uint16_t>(p, n, step, to);
    else if (size == 4)
      gather<uint32_t>(p, n, step, to);
    else
      gather<uint64_t>(p, n, step, to);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
}

bool in_order(const Shape& shape, const Shape& strides) {
  int64_t n = 1;
  for (size_t d = shape.size(); d-- > 0; n *= shape[d])
    if (shape[d] != 1 && strides[d] != n) return false;
  return true;
}

// The wrapper's name that every tensor's name begins with, "" for none.
std::string_view wrapper_prefix(const std::map<std::string, TorchFile::Entry>& entries) {
  for (const std::string_view prefix : {"module.", "_orig_mod."})  // DistributedDataParallel, torch.compile
    if (!entries.empty() && std::ranges::all_of(entries, [&](const auto& e) { return e.first.starts_with(prefix); }))
      return prefix;
  return "";
}

void strip_wrappers(std::map<std::string, TorchFile::Entry>& entries) {
  for (std::string_view prefix; !(prefix = wrapper_prefix(entries)).empty();) {
    std::map<std::string, TorchFile::Entry> bare;
    for (auto& [name, e] : entries) bare.emplace(name.substr(prefix.size()), std::move(e));
    entries = std::move(bare);
  }
}

}  // namespace

TorchFile::TorchFile(const std::filesystem::path& path) : path_(path) {
  const auto file = std::make_shared<const MappedFile>(path);
  *this = TorchFile(path, file->bytes(), file);
}

TorchFile::TorchFile(std::filesystem::path path, std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : path_(std::move(path)), bytes_(bytes), owner_(std::move(owner)) {
  const std::string where = path_.string();
  const TorchObject object = read_torch_object(bytes_, where);
  const Pickle& pickle = object.pickle;
  const auto items = state_dict(pickle, where);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i + 1].kind != Kind::call) continue;  // counters and settings beside the tensors
    const std::string name(pickle.text(items[i]));
    const std::string what = fmt::format("{}, tensor '{}'", where, printable(name));
    if (items[i].kind != Kind::text || printable(name, name.size()) != name)
      fail("{}: a name of printable characters is expected", what);
    if (!entries_.emplace(name, entry(object, items[i + 1], what)).second) fail("{}: listed twice", what);
  }
  strip_wrappers(entries_);
}

Tensor TorchFile::tensor(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) fail("{}: tensor '{}' is missing", path_.string(), name);
  const Entry& e = it->second;
  const bool short_integers = e.type == "i16";
  const std::byte* p = bytes_.data() + e.begin;
  const int64_t size = short_integers ? 2 : dtype_size(e.dtype);
  const bool aligned = reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(size) == 0;
  if (!short_integers && aligned && e.end > e.begin && in_order(e.shape, e.strides))
    return Tensor::external(p, e.shape, e.dtype, owner_);
  Tensor t = Tensor::empty(e.shape, e.dtype);
  if (t.size() == 0) return t;
  if (!short_integers) {
    copy_view(p, e.shape, e.strides, size, static_cast<std::byte*>(t.raw()));
    return t;
  }
  std::vector<int16_t> values(static_cast<size_t>(t.size()));
  copy_view(p, e.shape, e.strides, size, reinterpret_cast<std::byte*>(values.data()));
  std::copy(values.begin(), values.end(), t.data<int32_t>());
  return t;
}

}  // namespace quern

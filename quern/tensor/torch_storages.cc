#include "quern/tensor/torch_storages.h"

#include <cstring>
#include <map>
#include <utility>

#include "quern/base/error.h"
#include "quern/tensor/zip_directory.h"

namespace quern {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

constexpr uint32_t kMaxKey = 256;  // they are numbers

struct NamedType {
  std::string_view global;
  TorchType type;
};
constexpr NamedType kTypes[] = {
    {"torch.DoubleStorage", {"f64", DType::f64, 8}},
    {"torch.FloatStorage", {"f32", DType::f32, 4}},
    {"torch.HalfStorage", {"f16", DType::f16, 2}},
    {"torch.BFloat16Storage", {"bf16", DType::bf16, 2}},
    {"torch.LongStorage", {"i64", DType::i64, 8}},
    {"torch.IntStorage", {"i32", DType::i32, 4}},
    {"torch.ShortStorage", {"i16", DType::i32, 2}},
    {"torch.CharStorage", {"i8", DType::i8, 1}},
    {"torch.ByteStorage", {"u8", DType::u8, 1}},
    {"torch.BoolStorage", {"bool", DType::boolean, 1}},
    {"torch.storage.UntypedStorage", {"bytes", DType::u8, 1}},
    {"torch.float8_e4m3fn", {"f8e4m3", DType::f8e4m3, 1}},
};
constexpr Pickle::Global kGlobals[] = {
    {torch_names::kTensor, true},
    {torch_names::kTyped, true},
    {torch_names::kParameter, true},
    {torch_names::kParameterWithState, true},
    {kTypes[0].global},
    {kTypes[1].global},
    {kTypes[2].global},
    {kTypes[3].global},
    {kTypes[4].global},
    {kTypes[5].global},
    {kTypes[6].global},
    {kTypes[7].global},
    {kTypes[8].global},
    {kTypes[9].global},
    {kTypes[10].global},
    {kTypes[11].global},
};
static_assert(std::size(kGlobals) == std::size(kTypes) + 4);

struct StorageId {  // what a pickle says of a storage
  TorchType type;
  std::string key;
  int64_t count;
};

StorageId storage_id(const Pickle& pickle, Value persistent, const std::string& where) {
  const auto ids = pickle.items(persistent);
  const auto id = ids.empty() ? ids : pickle.items(ids[0]);
  if (id.size() < 5 || pickle.text(id[0]) != "storage" || id[1].kind != Kind::global || id[2].kind != Kind::text ||
      id[4].kind != Kind::integer)
    fail("{}: refers to something that is not a storage", where);
  if (id[2].length > kMaxKey) fail("{}: a storage whose key has {} bytes", where, id[2].length);
  const TorchType* type = torch_element_type(pickle.name(id[1]));
  if (!type) fail("{}: a storage of type {}", where, pickle.name(id[1]));
  if (id.size() > 5 && id[5].kind != Kind::none) fail("{}: views of storages are not supported", where);
  return {*type, std::string(pickle.text(id[2])), id[4].integer()};
}

// Throws unless `count` elements are exactly `bytes`.
void check_size(const StorageId& id, uint64_t bytes, const std::string& where) {
  int64_t needed = 0;
  if (id.count < 0 || __builtin_mul_overflow(id.count, id.type.size, &needed) ||
      static_cast<uint64_t>(needed) != bytes)
    fail("{}, storage '{}': {} elements of {} do not fit its {} bytes", where, printable(id.key), id.count,
         id.type.name, bytes);
}

// The bytes of an entry that torch.save would have stored as they are.
const ZipEntry& stored(const ZipEntry& e, const std::string& name, const std::string& where) {
  if (e.compressed)
    fail(
        "{}, zip entry '{}': is compressed, which torch.save never does: extract the file and store it with zip -0 "
        "-r",
        where, printable(name));
  return e;
}

TorchObject read_zip(std::span<const std::byte> bytes, const std::string& where) {
  constexpr std::string_view kPickle = "data.pkl";
  auto entries = read_zip_directory(bytes, where);
  const std::string* main = nullptr;
  for (const auto& [name, e] : entries) {
    const size_t slash = name.find('/');
    if (name != kPickle && (slash == name.npos || name.substr(slash + 1) != kPickle)) continue;
    if (main) fail("{}: two state dicts, '{}' and '{}'", where, printable(*main), printable(name));
    main = &name;
  }
  if (!main) fail("{}: a zip without data.pkl, not a file of torch.save", where);
  const std::string folder = main->substr(0, main->size() - kPickle.size());
  if (entries.count(folder + "constants.pkl"))
    fail(
        "{}: a TorchScript program, not weights: save its state dict, torch.save(torch.jit.load(FILE).state_dict(), "
        "…)",
        where);
  if (const auto order = entries.find(folder + "byteorder"); order != entries.end())
    if (const ZipEntry& e = stored(order->second, order->first, where);
        std::string_view(reinterpret_cast<const char*>(bytes.data()) + e.begin, e.size) != "little")
      fail("{}: the numbers are not little-endian, which is not supported", where);
  const ZipEntry& e = stored(entries.at(*main), *main, where);
  Pickle pickle(bytes.subspan(e.begin, e.size), where + ", data.pkl", kGlobals);
  auto storage = [entries = std::move(entries), folder, where](const Pickle& p, Value v) {
    const StorageId id = storage_id(p, v, where);
    const auto entry = entries.find(folder + "data/" + id.key);
    if (entry == entries.end()) fail("{}, storage '{}': is missing (truncated?)", where, printable(id.key));
    const ZipEntry& e = stored(entry->second, entry->first, where);
    check_size(id, e.size, where);
    return TorchStorage{id.type, e.begin, id.count};
  };
  return {std::move(pickle), std::move(storage)};
}

// Before 1.6: pickles of a magic number, a protocol, facts about the machine, the object and the keys of its storages;
// then each storage's count of elements and bytes, in the order of the keys.
class OldForm {
 public:
  OldForm(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  static bool begins(std::span<const std::byte> bytes) {
    constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";  // after the protocol
    return bytes.size() > 2 + kMagic.size() && bytes[0] == std::byte{0x80} &&
           std::memcmp(bytes.data() + 2, kMagic.data(), kMagic.size()) == 0;
  }

  TorchObject read() {
    next("the magic number");
    const Pickle protocol = next("the protocol");
    if (const Value v = protocol.root(); v.kind != Kind::integer || v.integer() != 1001)
      fail("{}: a protocol of torch.save other than 1001", where_);
    const Pickle machine = next("the facts about the machine");
    const auto facts = machine.items(machine.root());
    for (size_t i = 0; i + 1 < facts.size(); i += 2)
      if (machine.text(facts[i]) == "little_endian" && facts[i + 1].integer() != 1)
        fail("{}: big-endian numbers are not supported", where_);
    Pickle object = next("the state dict");
    std::map<std::string, StorageId> named;
    for (const Value& v : object.persistents()) {
      StorageId id = storage_id(object, v, where_);
      const auto [known, fresh] = named.emplace(id.key, id);
      if (known->second.type.size != id.type.size || known->second.count != id.count)
        fail("{}, storage '{}': is given two sizes", where_, printable(id.key));
    }
    const Pickle keys = next("the keys of the storages");
    std::map<std::string, size_t> begins;
    for (const Value& v : keys.items(keys.root())) {
      const std::string key(keys.text(v));
      const auto id = named.find(key);
      if (id == named.end()) fail("{}, storage '{}': no tensor has it", where_, printable(key));
      if (!begins.emplace(key, next_storage(id->second)).second)
        fail("{}, storage '{}': given twice", where_, printable(key));
    }
    auto storage = [begins = std::move(begins), where = where_](const Pickle& p, Value v) {
      const StorageId id = storage_id(p, v, where);
      const auto found = begins.find(id.key);
      if (found == begins.end()) fail("{}, storage '{}': is missing", where, printable(id.key));
      return TorchStorage{id.type, found->second, id.count};
    };
    return {std::move(object), std::move(storage)};
  }

 private:
  Pickle next(const char* what) {
    Pickle p(bytes_.subspan(at_), fmt::format("{}, {}", where_, what), kGlobals);
    at_ += p.size();
    return p;
  }
  // Where the bytes of the next storage begin.
  size_t next_storage(const StorageId& id) {
    int64_t count = 0;
    if (bytes_.size() - at_ < sizeof count) fail("{}, storage '{}': is truncated", where_, printable(id.key));
    std::memcpy(&count, bytes_.data() + at_, sizeof count);
    at_ += sizeof count;
    int64_t size = 0;
    if (count != id.count || count < 0 || __builtin_mul_overflow(count, id.type.size, &size) ||
        static_cast<uint64_t>(size) > bytes_.size() - at_)
      fail("{}, storage '{}': {} elements of {}, {} expected, {} bytes left (truncated?)", where_, printable(id.key),
           count, id.type.name, id.count, bytes_.size() - at_);
    return std::exchange(at_, at_ + static_cast<size_t>(size));
  }

  std::span<const std::byte> bytes_;
  std::string where_;
  size_t at_ = 0;
};

}  // namespace

const TorchType* torch_element_type(std::string_view name) {
  for (const NamedType& t : kTypes)
    if (t.global == name) return &t.type;
  return nullptr;
}

TorchObject read_torch_object(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK\x03\x04")) return read_zip(bytes, where);
  if (OldForm::begins(bytes)) return OldForm(bytes, where).read();
  if (text.starts_with("version https://git-lfs"))
    fail("{}: a pointer of Git LFS, not the weights: fetch them with git lfs pull", where);
  if (text.size() > 512 && text.substr(257, 5) == "ustar")
    fail("{}: the tar format of PyTorch before 0.1.10 is not supported: load it with PyTorch and save it again",
         where);
  if (text.starts_with('\x80')) fail("{}: a pickle that torch.save did not write: not weights", where);
  fail("{}: not a file of torch.save: {} bytes that begin with '{}'", where, text.size(),
       printable(text.substr(0, 8)));
}

}  // namespace quern

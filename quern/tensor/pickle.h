// Reads a pickle as data: the instructions that PyTorch writes state dicts with, and no others. Numbers, texts, tuples,
// lists and dicts are built. Callables are names of a given list; a call becomes a value that says what would have been
// called with which arguments. Nothing is imported, called or constructed, and every value lies in tables that this
// object owns: depth of nesting and cycles cost no recursion. Whatever else a pickle can ask for is an Error.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

class Pickle {
 public:
  // bytes: also integers of more than 64 bits, as stored.
  enum class Kind : uint8_t {
    absent,
    none,
    boolean,
    integer,
    real,
    text,
    bytes,
    tuple,
    list,
    dict,
    global,
    call,
    persistent
  };
  struct Value {
    Kind kind = Kind::absent;
    uint32_t length = 0;  // of text and bytes
    uint64_t at = 0;      // where text and bytes begin, or the integer, or the row of a table
    int64_t integer() const { return static_cast<int64_t>(at); }  // also of a boolean: 0 or 1
  };
  // A name that a pickle may ask for, as "module.name". `call`: it may also be called.
  struct Global {
    std::string_view name;
    bool call = false;
  };
  static constexpr std::string_view kOrderedDict = "collections.OrderedDict";  // always known; becomes a dict

  // Reads the pickle that `bytes` begin with. `where` names it in messages. `bytes` and `known` must outlive this object.
  Pickle(std::span<const std::byte> bytes, std::string where, std::span<const Global> known);

  Value root() const { return root_; }
  size_t size() const { return size_; }  // in bytes, up to the end of the pickle
  std::string_view text(Value v) const;  // of text and bytes
  // Of a tuple or a list; of a dict key, value, key, value …; of a call the global and its arguments; of a persistent
  // value its id. Nothing for others.
  std::span<const Value> items(Value v) const;
  std::string_view name(Value global) const {
    return global.at < known_.size() ? known_[global.at].name : kOrderedDict;
  }
  std::span<const Value> persistents() const { return persistents_; }  // every one, in the order of the pickle

 private:
  friend class PickleMachine;
  std::span<const std::byte> bytes_;
  std::span<const Global> known_;
  std::vector<std::vector<Value>> containers_;
  std::vector<Value> persistents_;
  Value root_;
  size_t size_ = 0;
};

// Text of a foreign file in a message: at most `max` bytes, and nothing that a terminal would act on.
std::string printable(std::string_view text, size_t max = 120);

}  // namespace quern

// Test helper: zip archives in memory, also wrong ones, and tensors as torch.save writes them.
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "quern/tensor/safetensors.h"

namespace quern {

struct ZipForTests {
  struct Entry {
    std::string name, content;
    uint16_t method = 0, flags = 0;
    bool wide = false;        // sizes and offset in a zip64 field
    int64_t more = 0;         // added to the size that the directory claims
    int64_t shift = 0;        // and to the offset
    std::string inside = {};  // the name in the local header, where it is another
  };
  std::vector<Entry> entries;
  bool wide = false;         // a zip64 end of the directory
  int64_t more_entries = 0;  // added to the count of the directory
  std::string comment = {};

  template <class T>
  static std::string le(T v) {
    std::string s(sizeof v, '\0');
    std::memcpy(s.data(), &v, sizeof v);
    return s;
  }

  std::string bytes() const {
    std::string out, directory;
    for (const Entry& e : entries) {
      const auto size = static_cast<uint64_t>(static_cast<int64_t>(e.content.size()) + e.more);
      const auto at = static_cast<uint64_t>(static_cast<int64_t>(out.size()) + e.shift);
      const std::string& inside = e.inside.empty() ? e.name : e.inside;
      const std::string facts = le(uint16_t{0}) + le(e.flags) + le(e.method) + le(uint32_t{0}) + le(uint32_t{0});
      const std::string narrow = le(static_cast<uint32_t>(size)), none = le(uint32_t{0xffffffff});
      out += "PK\x03\x04" + facts + narrow + narrow + le(static_cast<uint16_t>(inside.size())) + le(uint16_t{0}) +
             inside + e.content;
      const std::string extra = e.wide ? le(uint16_t{9}) + le(uint16_t{0}) + le(uint16_t{1}) + le(uint16_t{24}) +
                                             le(size) + le(size) + le(at)
                                       : "";
      directory += "PK\x01\x02" + le(uint16_t{0}) + facts + (e.wide ? none + none : narrow + narrow) +
                   le(static_cast<uint16_t>(e.name.size())) + le(static_cast<uint16_t>(extra.size())) +
                   le(uint16_t{0}) + le(uint16_t{0}) + le(uint16_t{0}) + le(uint32_t{0}) +
                   (e.wide ? none : le(static_cast<uint32_t>(at))) + e.name + extra;
    }
    const uint64_t begin = out.size(), end = begin + directory.size();
    const auto count = static_cast<uint64_t>(static_cast<int64_t>(entries.size()) + more_entries);
    out += directory;
    if (wide)
      out += "PK\x06\x06" + le(uint64_t{44}) + le(uint32_t{0}) + le(uint64_t{0}) + le(count) + le(count) +
             le(static_cast<uint64_t>(directory.size())) + le(begin) + "PK\x06\x07" + le(uint32_t{0}) + le(end) +
             le(uint32_t{1});
    const uint32_t none = 0xffffffff;
    return out + "PK\x05\x06" + le(uint32_t{0}) + le(wide ? uint16_t{0xffff} : static_cast<uint16_t>(count)) +
           le(wide ? uint16_t{0xffff} : static_cast<uint16_t>(count)) +
           le(wide ? none : static_cast<uint32_t>(directory.size())) +
           le(wide ? none : static_cast<uint32_t>(begin)) + le(static_cast<uint16_t>(comment.size())) + comment;
  }
};

// A state dict of f32 and bf16 tensors in the form that torch.save writes.
inline std::string torch_file_for_tests(const NamedTensors& tensors) {
  const auto text = [](const std::string& t) { return "X" + ZipForTests::le(static_cast<uint32_t>(t.size())) + t; };
  const auto number = [](int64_t n) { return "J" + ZipForTests::le(static_cast<int32_t>(n)); };
  const auto tuple = [&](const Shape& s) {
    std::string all = "(";
    for (int64_t n : s) all += number(n);
    return all + "t";
  };
  ZipForTests zip{.entries = {{"weights/data.pkl", ""}, {"weights/version", "3\n"}}};
  std::string pickle = "\x80\x02}(";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    const Tensor t = tensor.contiguous_copy_if_needed();
    const std::string key = fmt::format("{}", i), type = t.dtype() == DType::f32 ? "Float" : "BFloat16";
    pickle += text(name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + type +
              "Storage\n" + text(key) + text("cpu") + number(t.size()) + "tQ" + number(0) + tuple(t.shape()) +
              tuple(t.strides()) + "\x89}tR";
    zip.entries.push_back(
        {"weights/data/" + key, {static_cast<const char*>(t.raw()), static_cast<size_t>(t.bytes())}});
  }
  zip.entries[0].content = pickle + "u.";
  return zip.bytes();
}

}  // namespace quern

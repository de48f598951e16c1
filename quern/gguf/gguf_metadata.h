// Metadata of a GGUF file by key, for those who turn it into config.json. A key of the architecture that nobody asked
// for may change what the model computes: refuse_others() names it.
#pragma once
#include <set>
#include <string>

#include "quern/tensor/gguf.h"

namespace quern::gguf {

class GgufMetadata {
 public:
  explicit GgufMetadata(const GgufFile& f);
  const GgufFile& file() const { return file_; }
  const std::string& arch() const { return arch_; }
  std::string where(const std::string& key) const;  // for messages
  std::string where_own(const std::string& key) const { return where(arch_ + "." + key); }
  const Json* find(const std::string& key);  // null when absent
  const Json* own(const std::string& key) { return find(arch_ + "." + key); }
  int64_t whole(const std::string& key);  // of <architecture>.<key>, as are the next three; throws Error when absent
  int64_t whole(const std::string& key, int64_t otherwise) { return own(key) ? whole(key) : otherwise; }
  double real(const std::string& key, double otherwise);
  bool flag(const std::string& key, Json otherwise);
  std::string text(const std::string& key);  // "" when absent
  void refuse_others() const;

 private:
  const GgufFile& file_;
  std::set<std::string> known_;
  std::string arch_;
};

// config.json's fields that every architecture has: sizes, context, norms, token numbers.
Json common_config(GgufMetadata& m);
// The shape of the tensor `name`, a matrix; throws Error when it is missing or none.
const Shape& matrix_shape(const GgufFile& f, const std::string& name);

}  // namespace quern::gguf

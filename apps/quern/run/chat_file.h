// A saved chat of quern run: the messages and the model's state, so that a long conversation continues without
// prefilling it again.
#pragma once
#include <filesystem>
#include <string>

#include "quern/infer/engine/chat.h"

namespace quern::cli {

class ChatFile {
 public:
  // `model`: its fingerprint; a file of another is refused.
  ChatFile(std::filesystem::path path, std::string model) : path_(std::move(path)), model_(std::move(model)) {}
  bool exists() const { return std::filesystem::exists(path_); }
  void restore(infer::Engine& engine, infer::Chat& chat) const;
  void save(infer::Engine& engine, const infer::Chat& chat) const;  // nothing said: nothing written

 private:
  std::filesystem::path path_;
  std::string model_;
};

}  // namespace quern::cli

// A chat of quern run in a file: what was said, and what was computed of it, so that a long conversation goes on at
// once instead of being read again.
#pragma once
#include <filesystem>
#include <string>

#include "quern/infer/engine/chat.h"

namespace quern {

class ChatFile {
 public:
  // `model`: its fingerprint; a file of another is refused.
  ChatFile(std::filesystem::path path, std::string model) : path_(std::move(path)), model_(std::move(model)) {}
  bool exists() const { return std::filesystem::exists(path_); }
  void restore(Engine& engine, Chat& chat) const;
  void save(Engine& engine, const Chat& chat) const;  // nothing said: nothing written

 private:
  std::filesystem::path path_;
  std::string model_;
};

}  // namespace quern

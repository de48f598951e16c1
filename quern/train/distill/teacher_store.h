// A teacher's logits in files: at every learned token of a document its likeliest words, and how likely all others are.
// The folder holds store.json, which says of what teacher, and parts 00000.safetensors …, each of some documents:
//   keys   i64 [D]      of the documents: a hash of their tokens and of which are learned
//   first  i64 [D + 1]  where their tokens begin
//   words  u8           u16 [R, top], or u32 for a larger vocabulary
//   log_p  u8           u16 [R, top + 1]: −1024·log p, at the temperature; the last is of all other words
// Probabilities are exact to 1 in 2048. What a teacher says of a token depends on its document alone, so documents are
// found by content: in any order, batch size, number of ranks, and where they come again. Parts appear whole.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "quern/base/json.h"
#include "quern/tensor/tensor.h"
#include "quern/train/distill/distill_loss.h"

namespace quern::train {

// Of what the logits are.
struct TeacherIdentity {
  std::string teacher, fingerprint, format;  // the folder as the recipe named it; of its contents
  std::string tokenizer;                     // hash of tokenizer.json; empty: none
  int64_t top = 0, vocab = 0;
  double temperature = 1;
  Json to_json() const;
  static TeacherIdentity from_json(const Json& j, const std::string& where);
};

uint64_t document_key(std::span<const int32_t> tokens, std::span<const int32_t> targets);

class TeacherStore {
 public:
  // Throws Error naming the file that is missing or damaged.
  explicit TeacherStore(const std::filesystem::path& folder);

  const TeacherIdentity& identity() const { return identity_; }
  int64_t documents() const { return static_cast<int64_t>(places_.size()); }
  int64_t parts() const { return static_cast<int64_t>(parts_.size()); }
  bool holds(uint64_t key) const { return places_.contains(key); }

  // One learned token.
  struct Token {
    const std::byte* words = nullptr;
    const std::byte* log_p = nullptr;
  };
  // The learned tokens of a document, in order; nothing where the store has no such document.
  std::optional<std::vector<Token>> find(uint64_t key, int64_t learned) const;
  void read(const Token& t, TopWords& out) const;

 private:
  struct Part {
    Tensor first, words, log_p;
  };
  struct Place {
    uint32_t part;
    uint32_t document;
  };
  void add_part(const std::filesystem::path& file);
  std::filesystem::path folder_;
  TeacherIdentity identity_;
  std::vector<Part> parts_;
  std::unordered_map<uint64_t, Place> places_;
};

// Adds documents to a folder, which is new or of the same teacher; throws Error naming what differs.
class TeacherStoreWriter {
 public:
  TeacherStoreWriter(std::filesystem::path folder, const TeacherIdentity& identity);
  bool holds(uint64_t key) const { return old_.holds(key) || new_.contains(key); }
  void add(uint64_t key, std::span<const TopWords> learned);
  void finish();  // writes what is left

 private:
  static constexpr size_t kTokens = 16384;  // of a part, or one document
  std::filesystem::path folder_;
  TeacherIdentity identity_;
  TeacherStore old_;
  std::unordered_map<uint64_t, bool> new_;
  int64_t parts_;
  std::vector<int64_t> keys_, first_ = {0};
  std::vector<uint8_t> words_, log_p_;
};

// Throws Error naming what of a store does not fit to what is wanted; a field that one of them does not know fits.
void check_same_teacher(const TeacherIdentity& stored, const TeacherIdentity& wanted, const std::string& where);

}  // namespace quern::train

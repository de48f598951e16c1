#include "quern/train/distill/teacher_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/models/fingerprint.h"
#include "quern/tensor/safetensors.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

constexpr double kStep = 1.0 / 1024;
constexpr int64_t kVersion = 1;

int64_t word_bytes(const TeacherIdentity& of) { return of.vocab <= 65536 ? 2 : 4; }

std::string part_name(int64_t i) { return fmt::format("{:05}.safetensors", i); }

uint16_t code_of(double log_p) {
  return static_cast<uint16_t>(std::lround(std::clamp(-log_p / kStep, 0.0, 65535.0)));
}

Tensor bytes_of(std::span<const uint8_t> bytes) {
  return Tensor::of<uint8_t>({static_cast<int64_t>(bytes.size())}, bytes);
}

// A folder that the writer begins has an identity and no parts.
const fs::path& begun(const fs::path& folder, const TeacherIdentity& identity) {
  fs::create_directories(folder);
  if (!fs::exists(folder / "store.json")) {
    const fs::path draft = folder / "store.json.draft";
    write_file(draft, identity.to_json().dump(2) + "\n");
    fs::rename(draft, folder / "store.json");
  }
  return folder;
}

}  // namespace

Json TeacherIdentity::to_json() const {
  Json j = Json::object();
  j.set("version", kVersion), j.set("teacher", teacher), j.set("fingerprint", fingerprint), j.set("format", format);
  j.set("tokenizer", tokenizer), j.set("top", top), j.set("vocab", vocab), j.set("temperature", temperature);
  return j;
}

TeacherIdentity TeacherIdentity::from_json(const Json& j, const std::string& where) {
  const auto text = [&](const char* key) { return j.at(key, where).as_string(where + ", " + key); };
  const auto number = [&](const char* key) { return j.at(key, where).as_int(where + ", " + key); };
  if (number("version") != kVersion)
    fail("{}: version {}, this program reads {}: store the teacher's logits again", where, number("version"),
         kVersion);
  TeacherIdentity t{text("teacher"),
                    text("fingerprint"),
                    text("format"),
                    text("tokenizer"),
                    number("top"),
                    number("vocab"),
                    j.at("temperature", where).as_double(where + ", temperature")};
  if (t.top < 1 || t.vocab < t.top + 2 || t.vocab > int64_t{1} << 31)
    fail("{}: top {} of a vocabulary of {}", where, t.top, t.vocab);
  return t;
}

uint64_t document_key(std::span<const int32_t> tokens, std::span<const int32_t> targets) {
  std::vector<uint8_t> learned;
  for (const int32_t t : targets) learned.push_back(t >= 0);
  return models::content_hash(std::as_bytes(std::span(learned)), models::content_hash(std::as_bytes(tokens)));
}

TeacherStore::TeacherStore(const fs::path& folder) : folder_(folder) {
  const fs::path file = folder / "store.json";
  if (!fs::exists(file))
    fail("{} holds no teacher's logits (store.json is missing): store them first", folder.string());
  identity_ = TeacherIdentity::from_json(Json::read(file), file.string());
  while (fs::exists(folder / part_name(parts()))) add_part(folder / part_name(parts()));
}

void TeacherStore::add_part(const fs::path& path) {
  const SafetensorsFile file(path);
  const auto tensor = [&](const char* name, DType t) {
    if (!file.entries().contains(name)) fail("{}: tensor '{}' is missing", path.string(), name);
    const Tensor r = file.tensor(name);
    if (r.dtype() != t || r.rank() != 1)
      fail("{}: tensor '{}' is not a list of {}", path.string(), name, dtype_name(t));
    return r;
  };
  const Tensor keys = tensor("keys", DType::i64);
  Part p{tensor("first", DType::i64), tensor("words", DType::u8), tensor("log_p", DType::u8)};
  const std::span<const int64_t> first = p.first.span<int64_t>();
  const int64_t tokens = first.empty() ? 0 : first.back();
  if (p.first.size() != keys.size() + 1 || first.front() != 0 || !std::is_sorted(first.begin(), first.end()) ||
      p.words.size() / (identity_.top * word_bytes(identity_)) != tokens ||
      p.words.size() % (identity_.top * word_bytes(identity_)) != 0 ||
      p.log_p.size() / (2 * (identity_.top + 1)) != tokens || p.log_p.size() % (2 * (identity_.top + 1)) != 0)
    fail("{}: its documents do not add up: delete the file and store the teacher's logits again", path.string());
  for (int64_t d = 0; d < keys.size(); ++d)
    places_[static_cast<uint64_t>(keys.data<int64_t>()[d])] = {static_cast<uint32_t>(parts_.size()),
                                                               static_cast<uint32_t>(d)};
  parts_.push_back(std::move(p));
}

std::optional<std::vector<TeacherStore::Token>> TeacherStore::find(uint64_t key, int64_t learned) const {
  const auto at = places_.find(key);
  if (at == places_.end()) return std::nullopt;
  const Part& p = parts_[at->second.part];
  const int64_t* first = p.first.data<int64_t>() + at->second.document;
  if (first[1] - first[0] != learned)
    fail("{}, {}: a document has {} stored tokens and {} learned ones", folder_.string(), part_name(at->second.part),
         first[1] - first[0], learned);
  std::vector<Token> out;
  for (int64_t r = first[0]; r < first[1]; ++r)
    out.push_back({static_cast<const std::byte*>(p.words.raw()) + r * identity_.top * word_bytes(identity_),
                   static_cast<const std::byte*>(p.log_p.raw()) + r * (identity_.top + 1) * 2});
  return out;
}

void TeacherStore::read(const Token& t, TopWords& out) const {
  const auto top = static_cast<size_t>(identity_.top), width = static_cast<size_t>(word_bytes(identity_));
  out.words.resize(top), out.log_p.resize(top + 1);
  double sum = 0;
  for (size_t i = 0; i <= top; ++i) {
    uint16_t code = 0;
    std::memcpy(&code, t.log_p + 2 * i, 2);
    out.log_p[i] = -kStep * code, sum += std::exp(out.log_p[i]);
    if (i == top) break;
    uint32_t word = 0;
    std::memcpy(&word, t.words + width * i, width);
    if (word >= identity_.vocab)
      fail("{}: token {} of a vocabulary of {}: the store is damaged", folder_.string(), word, identity_.vocab);
    out.words[i] = word;
  }
  if (!(sum > 0)) fail("{}: a token without probabilities: the store is damaged", folder_.string());
  for (double& p : out.log_p) p -= std::log(sum);
}

TeacherStoreWriter::TeacherStoreWriter(fs::path folder, const TeacherIdentity& identity)
    : folder_(std::move(folder)), identity_(identity), old_(begun(folder_, identity)), parts_(old_.parts()) {
  check_same_teacher(old_.identity(), identity, folder_.string());
}

void TeacherStoreWriter::add(uint64_t key, std::span<const TopWords> learned) {
  const auto width = static_cast<size_t>(word_bytes(identity_));
  for (const TopWords& t : learned) {
    QUERN_CHECK(static_cast<int64_t>(t.words.size()) == identity_.top && t.log_p.size() == t.words.size() + 1);
    for (const uint32_t w : t.words) {
      words_.resize(words_.size() + width);
      std::memcpy(words_.data() + words_.size() - width, &w, width);
    }
    for (const double p : t.log_p) {
      const uint16_t code = code_of(p);
      log_p_.push_back(static_cast<uint8_t>(code & 255)), log_p_.push_back(static_cast<uint8_t>(code >> 8));
    }
  }
  new_[key] = true;
  keys_.push_back(static_cast<int64_t>(key)), first_.push_back(first_.back() + static_cast<int64_t>(learned.size()));
  if (static_cast<size_t>(first_.back()) >= kTokens) finish();
}

void TeacherStoreWriter::finish() {
  if (keys_.empty()) return;
  const auto list = [](const std::vector<int64_t>& v) {
    return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v);
  };
  save_safetensors(
      folder_ / part_name(parts_++),
      {{"keys", list(keys_)}, {"first", list(first_)}, {"words", bytes_of(words_)}, {"log_p", bytes_of(log_p_)}});
  keys_.clear(), first_ = {0}, words_.clear(), log_p_.clear();
}

void check_same_teacher(const TeacherIdentity& stored, const TeacherIdentity& wanted, const std::string& where) {
  const auto differ = [&](const char* what, const auto& a, const auto& b) {
    if (!(a == b))
      fail("{}: {} is {}, the recipe has {}: store the logits in another folder, or change distill", where, what, a,
           b);
  };
  differ("distill.top", stored.top, wanted.top);
  differ("distill.temperature", stored.temperature, wanted.temperature);
  differ("distill.format", stored.format, wanted.format);
  if (!stored.tokenizer.empty() && !wanted.tokenizer.empty() && stored.tokenizer != wanted.tokenizer)
    fail("{}: the teacher has another tokenizer ({}) than the student ({}): both need the same one", where,
         stored.tokenizer, wanted.tokenizer);
  differ("the vocabulary", stored.vocab, wanted.vocab);
  if (!wanted.fingerprint.empty() && stored.fingerprint != wanted.fingerprint)
    fail(
        "{}: the logits are of another teacher: of {} with fingerprint {}, {} has {}; store them again in another "
        "folder",
        where, stored.teacher, stored.fingerprint, wanted.teacher, wanted.fingerprint);
}

}  // namespace quern::train

#include "quern/infer/cache/piece_file.h"

#include <charconv>

#include "quern/base/error.h"
#include "quern/infer/cache/state_parts.h"
#include "quern/models/fingerprint.h"

namespace quern::infer {
namespace {

constexpr const char* kVersion = "1";
constexpr const char* kKind = "a file of the prefix cache";

int64_t save(const std::filesystem::path& file, const NamedTensors& tensors,
             std::map<std::string, std::string> facts) {
  facts.insert({{"quern_prefix", kVersion}, {"checksum", state_checksum(tensors)}});
  save_safetensors(file, tensors, facts);
  return static_cast<int64_t>(std::filesystem::file_size(file));
}

NamedTensors named(const std::vector<mixers::StateSite>& sites, bool per_token, const std::vector<Tensor>& parts) {
  NamedTensors out;
  each_state_part(sites, [&](size_t s, size_t, const mixers::StatePart& part) {
    if (part.per_token != per_token) return;
    QUERN_CHECK(out.size() < parts.size());
    out.emplace_back(state_part_name(s, part), parts[out.size()].contiguous_copy_if_needed());
  });
  return out;
}

SafetensorsFile open(const std::filesystem::path& file) {
  SafetensorsFile f(file);
  if (const std::string& v = state_fact(f, "quern_prefix", kKind); v != kVersion)
    fail("{}: format {}, expected {}", file.string(), v, kVersion);
  return f;
}

int64_t number_fact(const SafetensorsFile& f, const char* name) {
  const std::string& text = state_fact(f, name, kKind);
  int64_t v = -1;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (bad != std::errc() || end != text.data() + text.size() || v < 0)
    fail("{}: {} is '{}', expected a number", f.path().string(), name, text);
  return v;
}

Tensor tokens_of(const SafetensorsFile& f) {
  const auto it = f.entries().find("tokens");
  if (it == f.entries().end() || it->second.shape.size() != 1 || it->second.dtype != DType::i32 ||
      it->second.shape[0] < 1)
    fail("{} is not {}: it contains no tokens", f.path().string(), kKind);
  return f.tensor("tokens");
}

std::vector<Tensor> checked(const SafetensorsFile& f, NamedTensors all, size_t skip) {
  if (state_checksum(all) != state_fact(f, "checksum", kKind))
    fail("{}: the checksum differs: the file is damaged", f.path().string());
  std::vector<Tensor> out;
  for (size_t i = skip; i < all.size(); ++i) out.push_back(std::move(all[i].second));
  return out;
}

}  // namespace

std::string PieceFacts::id() const {
  uint64_t h = models::content_hash(std::as_bytes(std::span(parent)), static_cast<uint64_t>(begin));
  h = models::content_hash(std::as_bytes(std::span(variant)), h);
  h = models::content_hash(std::as_bytes(std::span(tokens)), h);
  return fmt::format("{:016x}", h);
}

int64_t write_piece(const std::filesystem::path& file, const PieceFacts& facts,
                    const std::vector<mixers::StateSite>& sites, const std::vector<Tensor>& rows) {
  NamedTensors all = named(sites, true, rows);
  Tensor ids = Tensor::empty({static_cast<int64_t>(facts.tokens.size())}, DType::i32);
  std::copy(facts.tokens.begin(), facts.tokens.end(), ids.data<int32_t>());
  all.emplace(all.begin(), "tokens", std::move(ids));
  return save(file, all,
              {{"parent", facts.parent}, {"variant", facts.variant}, {"begin", fmt::format("{}", facts.begin)}});
}

int64_t write_snapshot(const std::filesystem::path& file, const std::string& piece, int64_t position,
                       const std::vector<mixers::StateSite>& sites, const std::vector<Tensor>& fixed) {
  return save(file, named(sites, false, fixed), {{"piece", piece}, {"position", fmt::format("{}", position)}});
}

PieceFacts read_piece_facts(const std::filesystem::path& file) {
  const SafetensorsFile f = open(file);
  PieceFacts facts{.parent = state_fact(f, "parent", kKind),
                   .variant = state_fact(f, "variant", kKind),
                   .begin = number_fact(f, "begin")};
  const Tensor ids = tokens_of(f);
  facts.tokens.assign(ids.data<int32_t>(), ids.data<int32_t>() + ids.dim(0));
  if (facts.id() != file.stem().string())
    fail("{}: its tokens are not those of its name: it is damaged", file.string());
  return facts;
}

std::vector<Tensor> read_piece_rows(const std::filesystem::path& file, int64_t tokens,
                                    const std::vector<mixers::StateSite>& sites) {
  const SafetensorsFile f = open(file);
  NamedTensors all{{"tokens", state_tensor(f, "tokens", DType::i32, {tokens})}};
  each_state_part(sites, [&](size_t s, size_t, const mixers::StatePart& part) {
    if (!part.per_token) return;
    Shape shape = part.shape;
    shape.insert(shape.begin(), tokens);
    const std::string name = state_part_name(s, part);
    all.emplace_back(name, state_tensor(f, name, part.dtype, shape));
  });
  return checked(f, std::move(all), 1);
}

std::vector<Tensor> read_snapshot(const std::filesystem::path& file, const std::string& piece, int64_t position,
                                  const std::vector<mixers::StateSite>& sites) {
  const SafetensorsFile f = open(file);
  if (state_fact(f, "piece", kKind) != piece || number_fact(f, "position") != position)
    fail("{}: a snapshot of another text", file.string());
  NamedTensors all;
  each_state_part(sites, [&](size_t s, size_t, const mixers::StatePart& part) {
    if (part.per_token) return;
    const std::string name = state_part_name(s, part);
    all.emplace_back(name, state_tensor(f, name, part.dtype, part.shape));
  });
  return checked(f, std::move(all), 0);
}

}  // namespace quern::infer

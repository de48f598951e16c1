// One tensor per part of the state, as state_parts.h names them.
#include "quern/infer/cache/state_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "quern/base/error.h"
#include "quern/infer/cache/kv_type.h"
#include "quern/infer/cache/state_parts.h"

namespace quern::infer {
namespace {

constexpr const char* kVersion = "1";

// Written in a folder nobody else may enter, of a name nobody else has.
class PrivateFolder {
 public:
  explicit PrivateFolder(const std::string& prefix) : path_(prefix + "XXXXXX") {
    if (!::mkdtemp(path_.data())) fail("cannot write {}: {}", prefix, std::strerror(errno));
  }
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

const std::string& fact(const SafetensorsFile& f, const char* name) { return state_fact(f, name, "a saved session"); }

// Of the first cache there is: all have one type.
void check_cache_type(const SafetensorsFile& f, const std::vector<mixers::StateSite>& sites) {
  each_state_part(sites, [&](size_t s, size_t, const mixers::StatePart& part) {
    if (part.name != "k" || !part.per_token) return;
    const auto it = f.entries().find(state_part_name(s, part));
    if (it == f.entries().end() || it->second.dtype == part.dtype) return;
    fail(
        "{}: saved with KV cache type {}, but this model runs with {}; run it with KV cache type {}, or name another "
        "file",
        f.path().string(), kv_name(it->second.dtype), kv_name(part.dtype), kv_name(it->second.dtype));
  });
}

}  // namespace

void save_state(const std::filesystem::path& path, const std::string& model, std::span<const int32_t> tokens,
                const mixers::SequenceState& state, const std::string& note) {
  QUERN_CHECK(static_cast<int64_t>(tokens.size()) == state.length(), "{} tokens for a state of {}", tokens.size(),
              state.length());
  NamedTensors out;
  Tensor ids = Tensor::empty({static_cast<int64_t>(tokens.size())}, DType::i32);
  std::copy(tokens.begin(), tokens.end(), ids.data<int32_t>());
  out.emplace_back("tokens", std::move(ids));
  each_state_part(state.sites(), [&](size_t s, size_t p, const mixers::StatePart& part) {
    const int site = static_cast<int>(s), index = static_cast<int>(p);
    out.emplace_back(state_part_name(s, part),
                     (part.per_token ? state.rows(site, index) : state.fixed(site, index)).clone());
  });
  const PrivateFolder folder(path.string() + ".part");
  const std::filesystem::path file = folder.path() / "state";
  save_safetensors(file, out,
                   {{"quern_state", kVersion}, {"model", model}, {"checksum", state_checksum(out)}, {"note", note}});
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::rename(file, path);
}

SavedState load_state(const std::filesystem::path& path, const std::string& model,
                      const std::vector<mixers::StateSite>& sites) {
  const SafetensorsFile f(path);
  const std::string& version = fact(f, "quern_state");
  if (version != kVersion) fail("{}: session format {}, expected {}", path.string(), version, kVersion);
  if (fact(f, "model") != model)
    fail("{}: saved by another model or weight format: {}, this model is {}", path.string(), fact(f, "model"), model);
  check_cache_type(f, sites);
  const auto ids = f.entries().find("tokens");
  if (ids == f.entries().end() || ids->second.shape.size() != 1)
    fail("{} is not a saved session: it contains no tokens", path.string());
  const int64_t n = ids->second.shape[0];
  NamedTensors all;
  all.emplace_back("tokens", state_tensor(f, "tokens", DType::i32, {n}));
  each_state_part(sites, [&](size_t s, size_t, const mixers::StatePart& part) {
    Shape shape = part.shape;
    if (part.per_token) shape.insert(shape.begin(), n);
    const std::string name = state_part_name(s, part);
    all.emplace_back(name, state_tensor(f, name, part.dtype, shape));
  });
  if (state_checksum(all) != fact(f, "checksum"))
    fail("{}: the checksum differs: the file is damaged", path.string());

  SavedState out{.tokens = {}, .state = mixers::SequenceState(sites), .note = fact(f, "note")};
  const int32_t* tokens = all[0].second.data<int32_t>();
  out.tokens.assign(tokens, tokens + n);
  size_t next = 1;
  each_state_part(sites, [&](size_t s, size_t p, const mixers::StatePart& part) {
    const int site = static_cast<int>(s), index = static_cast<int>(p);
    const Tensor& from = all[next++].second;
    if (!part.per_token)
      out.state.fixed(site, index).copy_from(from);
    else if (n > 0)
      out.state.append(site, index, n).copy_from(from);
  });
  out.state.advance(n);
  return out;
}

StateFileFacts read_state_facts(const std::filesystem::path& path) {
  const SafetensorsFile f(path);
  fact(f, "quern_state");
  StateFileFacts out{.model = fact(f, "model"), .note = fact(f, "note")};
  if (const auto ids = f.entries().find("tokens"); ids != f.entries().end() && ids->second.shape.size() == 1)
    out.tokens = ids->second.shape[0];
  return out;
}

}  // namespace quern::infer

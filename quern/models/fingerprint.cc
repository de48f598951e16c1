// Hashes small files whole and large ones by samples.
#include "quern/models/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/tensor/safetensors.h"
#include "quern/tensor/torch_file.h"
#include "quern/tensor/weight_files.h"

namespace quern::models {
namespace {

constexpr size_t kSample = 4096, kSamples = 256, kMiddle = 64;

// The bytes in the middle of every tensor.
template <class Entries>
uint64_t middles(const Entries& entries, std::span<const std::byte> all, uint64_t h) {
  for (const auto& [name, entry] : entries) {
    h = content_hash(std::as_bytes(std::span(name)), h);
    const size_t bytes = entry.end - entry.begin, from = entry.begin + bytes / 2;
    h = content_hash(all.subspan(from, std::min(kMiddle, entry.end - from)), h);
  }
  return h;
}

uint64_t file_samples(const std::filesystem::path& path, uint64_t h) {
  const MappedFile file(path);
  const std::span<const std::byte> all = file.bytes();
  h = mix64(h ^ all.size());
  if (all.size() <= kSample * kSamples) return content_hash(all, h);
  const size_t step = (all.size() - kSample) / (kSamples - 1);
  for (size_t i = 0; i < kSamples; ++i) h = content_hash(all.subspan(i * step, kSample), h);
  if (path.extension() == ".safetensors") return middles(SafetensorsFile(path).entries(), all, h);
  return is_torch_file(path) ? middles(TorchFile(path).entries(), all, h) : h;
}

uint64_t folder_samples(const std::filesystem::path& folder, uint64_t h) {
  std::vector<std::filesystem::path> files;
  for (const auto& f : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path p = f.path();
    const std::string name = p.filename().string();
    if (name == "config.json" || name == "tokenizer.json" || name == "adapter_config.json" ||
        p.extension() == ".safetensors")
      files.push_back(p);
  }
  for (const std::filesystem::path& p : weight_files(folder))
    if (is_torch_file(p)) files.push_back(p);
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& f : files) h = file_samples(f, h);
  return h;
}

}  // namespace

uint64_t content_hash(std::span<const std::byte> bytes, uint64_t seed) {
  uint64_t h = mix64(seed ^ bytes.size());
  size_t i = 0;
  for (uint64_t word; i + 8 <= bytes.size(); i += 8) {
    std::memcpy(&word, bytes.data() + i, 8);
    h = mix64(h ^ word);
  }
  uint64_t rest = 0;
  if (i < bytes.size()) std::memcpy(&rest, bytes.data() + i, bytes.size() - i);
  return mix64(h ^ rest);
}

std::string model_fingerprint(const std::filesystem::path& model, const std::string& how,
                              const std::optional<std::filesystem::path>& adapter) {
  uint64_t h = content_hash(std::as_bytes(std::span(how)));
  h = std::filesystem::is_directory(model) ? folder_samples(model, h) : file_samples(model, h);
  const std::filesystem::path config = model.parent_path() / "config.json";
  if (is_torch_file(model) && std::filesystem::exists(config)) h = file_samples(config, h);
  if (adapter) h = folder_samples(*adapter, mix64(h));
  return fmt::format("{:016x}", h);
}

}  // namespace quern::models

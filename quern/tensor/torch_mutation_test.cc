// Thousands of damaged files of torch.save: each is an Error, or tensors that lie inside the file. What the damage left
// alone reads as before. The bytes lie in an allocation of exactly their size, so that a sanitizer sees every step past it.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <set>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/tensor/torch_file.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = fs::path(QUERN_SOURCE_DIR) / "tests/goldens/torch";
constexpr int kMutants = 4000;  // of each file

// One to four changes of the kinds that damage and malice make.
std::string mutated(std::string s, const std::string& other, Rng& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random.below(n)); };
  for (size_t changes = 1 + below(4); changes > 0 && !s.empty(); --changes) {
    const size_t at = below(s.size()), n = std::min(s.size() - at, 1 + below(16));
    switch (below(7)) {
      case 0:
        s[at] = static_cast<char>(below(256));
        break;
      case 1:
        s[at] = static_cast<char>(s[at] ^ (1 << below(8)));
        break;
      case 2:
        s.replace(at, n, n, "\xff\0\x7f\x80"[below(4)]);
        break;
      case 3:
        s.erase(at, n);
        break;
      case 4:
        s.insert(at, s.substr(below(s.size()), n));
        break;
      case 5:
        s.replace(at, n, other.substr(below(other.size()), n));
        break;
      default:
        if (below(8) == 0) s.resize(at);
    }
  }
  return s;
}

TorchFile opened(const std::string& content) {
  const auto* begin = reinterpret_cast<const std::byte*>(content.data());
  const auto owner = std::make_shared<const std::vector<std::byte>>(begin, begin + content.size());
  return TorchFile("mutant.bin", *owner, owner);
}

bool same(const TorchFile::Entry& a, const TorchFile::Entry& b) {
  return a.type == b.type && a.shape == b.shape && a.strides == b.strides && a.begin == b.begin && a.end == b.end;
}

struct Outcome {
  int errors = 0, read = 0, right = 0;  // right: tensors that compared equal
};

void read_mutant(const std::string& content, const std::string& whole, const TorchFile& original, Outcome& outcome) {
  std::optional<TorchFile> file;
  try {
    file.emplace(opened(content));
  } catch (const Error&) {
    ++outcome.errors;
    return;
  }
  ++outcome.read;
  for (const auto& [name, e] : file->entries()) {
    const Tensor t = file->tensor(name);
    ASSERT_LE(e.end, content.size());
    ASSERT_LE(t.bytes(), int64_t{8} << 20);
    const std::string bytes(static_cast<const char*>(t.raw()), static_cast<size_t>(t.bytes()));  // every one
    const auto before = original.entries().find(name);
    if (before == original.entries().end() || !same(e, before->second) || e.end > whole.size() ||
        content.compare(e.begin, e.end - e.begin, whole, e.begin, e.end - e.begin) != 0)
      continue;
    ++outcome.right;
    ASSERT_EQ(std::memcmp(original.tensor(name).raw(), bytes.data(), bytes.size()), 0) << name;
  }
}

TEST(TorchMutation, DamagedFilesAreErrorsOrRight) {
  const char* names[] = {"kinds.bin", "kinds-old.bin", "kinds.pt", "wrapped.pt"};
  for (size_t i = 0; i < std::size(names); ++i) {
    SCOPED_TRACE(names[i]);
    const std::string whole = read_file(kGoldens / names[i]), other = read_file(kGoldens / names[(i + 1) % 4]);
    const TorchFile original = opened(whole);
    Rng random(41, i);
    Outcome outcome;
    for (int n = 0; n < kMutants && !HasFatalFailure(); ++n)
      read_mutant(mutated(whole, other, random), whole, original, outcome);
    EXPECT_GT(outcome.errors, kMutants / 5);
    EXPECT_GT(outcome.read, kMutants / 20);
    EXPECT_GT(outcome.right, kMutants / 10);
  }
}

TEST(TorchMutation, TruncatedFilesAreErrors) {
  for (const char* name : {"kinds.bin", "kinds-old.bin"}) {
    const std::string whole = read_file(kGoldens / name);
    for (size_t n = 0; n < whole.size(); ++n) EXPECT_THROW(opened(whole.substr(0, n)), Error) << name << " " << n;
  }
}

}  // namespace
}  // namespace quern

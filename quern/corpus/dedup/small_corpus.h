// Test helper: a corpus of some thousand short documents in JSON lines, zstd, a truncated file and text files, with
// exact and near-duplicates and invalid records, in blocks small enough to exercise every mechanism.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/dedup/dedup.h"

namespace quern::corpus {

class SmallCorpus : public ::testing::Test {
 protected:
  SmallCorpus() : root_(std::filesystem::temp_directory_path() / fmt::format("quern-small-{}", ::getpid())) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "in");
    std::mt19937 random(11);
    std::string lines[3];
    for (int i = 0; i < 1500; ++i) {
      std::string text;
      const unsigned page = random() % 500;
      for (unsigned w = 0; w < 150; ++w) text += word((page * 7919 + w * w * (page + 3)) % 9973);
      if (random() % 2) text += "tail " + word(random() % 5);
      if (random() % 50 == 0) text += std::string(20, '-');
      std::string& to = lines[random() % 3];
      to += "{\"text\":";
      append_json_string(to, text);
      to += random() % 100 ? "}\n" : "\n";  // some are no JSON
    }
    write_file(root_ / "in/a.jsonl", lines[0]);
    std::string frames;
    for (size_t at = 0; at < lines[1].size(); at += 100000) zstd_frame(lines[1].substr(at, 100000), 3, frames);
    write_file(root_ / "in/b.jsonl.zst", frames);
    write_file(root_ / "in/c.jsonl.zst", frames.substr(0, frames.size() - 20));  // cut short
    for (int i = 0; i < 20; ++i)
      write_file(root_ / fmt::format("in/n{:02}.txt", i), fmt::format("note {} {}", i, lines[2].substr(0, 200)));
    config_ = dedup_preset("zyda", "fast");
    config_.filters = {"zyda"};
    config_.block_bytes = 32 << 10, config_.checkpoint_bytes = 1, config_.shard_bytes = 200000;
  }
  ~SmallCorpus() override { std::filesystem::remove_all(root_); }

  static std::string word(unsigned n) {
    std::string w;
    for (int i = 0; i < 4; ++i, n /= 13) w += "bcdfgklmnprst"[n % 13], w += "aeiou"[n % 5];
    return w + " ";
  }
  Inputs inputs() const { return find_inputs(std::vector<std::string>{(root_ / "in").string()}); }
  // The names and bytes of what lies in a folder.
  std::string content(const std::string& out) const {
    std::vector<std::string> all;
    for (const auto& e : std::filesystem::directory_iterator(root_ / out))
      all.push_back(e.path().filename().string() + "\n" + (e.is_regular_file() ? read_file(e.path()) : "folder"));
    std::sort(all.begin(), all.end());
    return fmt::format("{}", fmt::join(all, "\n"));
  }
  std::filesystem::path root_;
  DedupConfig config_;
};

}  // namespace quern::corpus

// Ranges cover the file, whatever its size, and meet at whole pages; files are read across their borders.
#include "quern/corpus/tasks/joined_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

TEST(JoinedFile, RangesMeetAtPages) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, kJoinedPage - 1, kJoinedPage, kJoinedPage + 1,
                               11 * kJoinedPage + 5, uint64_t{1} << 45})
    for (const uint64_t tasks : {1, 3, 8, 1000}) {
      uint64_t end = 0;
      for (uint64_t i = 0; i < tasks; ++i) {
        const ByteRange r = joined_range(bytes, tasks, i);
        EXPECT_EQ(r.begin, end) << bytes;
        EXPECT_LE(r.begin, r.end);
        EXPECT_TRUE(r.end % kJoinedPage == 0 || r.end == bytes) << bytes << " " << r.end;
        EXPECT_LE(r.end - r.begin, bytes / tasks + kJoinedPage + 1);
        end = r.end;
      }
      EXPECT_EQ(end, bytes);
    }
}

TEST(JoinedFile, AnyOrderAndTwiceGivesTheFile) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("quern-joined-{}", ::getpid());
  fs::create_directories(folder);
  std::string all;
  JoinedFiles pieces;
  for (const size_t n : {size_t{0}, size_t{700'000}, size_t{0}, size_t{2'345'678}, size_t{3}, size_t{900'001}}) {
    std::string piece(n, ' ');
    for (size_t i = 0; i < n; ++i) piece[i] = static_cast<char>((all.size() + i) * 2654435761u >> 13);
    const fs::path file = folder / std::to_string(all.size() + n);
    write_file(file, piece);
    pieces.add(file);
    all += piece;
  }
  ASSERT_EQ(pieces.size(), all.size());
  const fs::path joined = folder / "joined";
  for (const uint64_t task : {2, 0, 3, 1, 2})
    write_range(joined, joined_range(all.size(), 4, task),
                [&](uint64_t at, char* to, size_t n) { pieces.read(at, to, n); });
  EXPECT_EQ(read_file(joined), all);
  char none = 0;
  EXPECT_NE(message_of([&] { pieces.read(all.size(), &none, 1); }).find("bytes 3945682 to 3945683 of 3945682"),
            std::string::npos);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace quern::corpus

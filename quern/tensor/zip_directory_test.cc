// Zip archives that are whole, in zip64, and wrong in every field.
#include "quern/tensor/zip_directory.h"

#include <gtest/gtest.h>

#include <functional>

#include "quern/base/test_message.h"
#include "quern/tensor/zip_for_tests.h"

namespace quern {
namespace {

std::span<const std::byte> as_bytes(const std::string& s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

ZipForTests three() { return {.entries = {{"a/data.pkl", "pickle"}, {"a/data/0", "0123456789"}, {"a/data/1", ""}}}; }

void expect_three(const std::string& zip) {
  const auto entries = read_zip_directory(as_bytes(zip), "x.bin");
  ASSERT_EQ(entries.size(), 3u);
  const auto content = [&](const char* name) { return zip.substr(entries.at(name).begin, entries.at(name).size); };
  EXPECT_EQ(content("a/data.pkl"), "pickle");
  EXPECT_EQ(content("a/data/0"), "0123456789");
  EXPECT_EQ(content("a/data/1"), "");
}

TEST(ZipDirectory, SaysWhereEntriesLie) {
  ZipForTests zip = three();
  expect_three(zip.bytes());
  zip.comment = "written by a test, PK\x05\x06";
  expect_three(zip.bytes());
  zip.comment.clear(), zip.wide = true;
  expect_three(zip.bytes());
  for (ZipForTests::Entry& e : zip.entries) e.wide = true;
  expect_three(zip.bytes());
}

TEST(ZipDirectory, RefusesByField) {
  const auto expect = [](const std::function<void(ZipForTests&)>& change, const char* part) {
    ZipForTests zip = three();
    change(zip);
    const std::string bytes = zip.bytes();
    const std::string said = message_of([&] { read_zip_directory(as_bytes(bytes), "x.bin"); });
    EXPECT_NE(said.find(part), std::string::npos) << part << ": " << said;
  };
  for (const bool wide : {false, true}) {
    const auto entry = [&](ZipForTests& z) -> ZipForTests::Entry& {
      z.entries[1].wide = wide;
      return z.entries[1];
    };
    expect([&](ZipForTests& z) { entry(z).more = 1000; }, "are outside the file");
    expect([&](ZipForTests& z) { entry(z).more = 20; }, "overlap");
    expect([&](ZipForTests& z) { entry(z).shift = 1; }, "no entry begins at byte");
    expect([&](ZipForTests& z) { entry(z).shift = 1000; }, "no entry begins at byte");
    expect([&](ZipForTests& z) { z.wide = wide, z.more_entries = 1; }, "do not fit a zip directory");
    expect([&](ZipForTests& z) { z.wide = wide, z.more_entries = 60000; }, "do not fit a zip directory");
  }
  expect([](ZipForTests& z) { z.entries[1].wide = true, z.entries[1].more = -11; }, "are outside the file");
  expect(
      [](ZipForTests& z) {
        for (ZipForTests::Entry& e : z.entries) e.wide = true;
        z.more_entries = 1;
      },
      "entry 3 of the zip directory is damaged");
  expect([](ZipForTests& z) { z.entries[1].flags = 1; }, "is encrypted");
  expect([](ZipForTests& z) { z.entries[1].inside = "a/data/7"; }, "is called otherwise");
  expect([](ZipForTests& z) { z.entries[1].name = "a/data/1"; }, "is in the zip twice");
}

TEST(ZipDirectory, EveryTruncationIsAnError) {
  ZipForTests zip = three();
  zip.wide = true;
  const std::string whole = zip.bytes();
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::string part = whole.substr(0, n);
    EXPECT_NE(message_of([&] { read_zip_directory(as_bytes(part), "x.bin"); }), "") << n;
  }
}

}  // namespace
}  // namespace quern

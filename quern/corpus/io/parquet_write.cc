// Parquet writer: four flat columns, plain values, pages of about one MiB, compressed with zstd.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "quern/base/error.h"
#include "quern/corpus/io/parquet.h"
#include "quern/corpus/io/parquet_format.h"

namespace quern::corpus {
namespace {

using namespace parquet;

constexpr size_t kPageBytes = size_t{1} << 20;

struct ColumnBuffer {
  std::string values, pages;  // of the open page; packed ones of the open group
  std::string levels;         // a byte a value: there or not
  int64_t in_page = 0;
  ChunkInfo chunk;
};

void put_text(std::string& to, std::string_view s) {
  const auto n = static_cast<uint32_t>(s.size());
  to.append(reinterpret_cast<const char*>(&n), 4);
  to += s;
}

// Levels of one bit as runs of equal ones.
std::string level_runs(std::string_view levels) {
  std::string runs, all;
  for (size_t i = 0; i < levels.size();) {
    size_t end = i;
    while (end < levels.size() && levels[end] == levels[i]) ++end;
    for (uint64_t head = (end - i) << 1; true; head >>= 7) {
      runs += static_cast<char>(head >= 0x80 ? head | 0x80 : head);
      if (head < 0x80) break;
    }
    runs += levels[i];
    i = end;
  }
  put_text(all, runs);
  return all;
}

}  // namespace

struct ParquetWriter::State {
  std::filesystem::path file, part;
  std::FILE* out = nullptr;
  int level = 3;
  uint64_t group_bytes = 0, in_group = 0, text = 0;
  int64_t at = 0;
  FileInfo info;
  std::array<ColumnBuffer, 4> columns;

  void put(std::string_view s) {
    if (std::fwrite(s.data(), 1, s.size(), out) != s.size())
      fail("cannot write {}: {}", part.string(), std::strerror(errno));
    at += static_cast<int64_t>(s.size());
  }
  void end_page(size_t c) {
    ColumnBuffer& b = columns[c];
    if (b.in_page == 0) return;
    const std::string body = (info.columns[c].optional ? level_runs(b.levels) : std::string()) + b.values;
    std::string packed;
    zstd_frame(body, level, packed);
    PageInfo p;
    p.unpacked = static_cast<int64_t>(body.size()), p.packed = static_cast<int64_t>(packed.size());
    p.values = b.in_page;
    const std::string head = page_header_bytes(p);
    b.pages += head + packed;
    b.chunk.values += b.in_page;
    b.chunk.unpacked += static_cast<int64_t>(head.size()) + p.unpacked;
    b.values.clear(), b.levels.clear();
    b.in_page = 0;
  }
  void end_group() {
    for (size_t c = 0; c < columns.size(); ++c) end_page(c);
    if (columns[0].chunk.values == 0) return;
    GroupInfo& g = info.groups.emplace_back();
    g.rows = columns[0].chunk.values, info.rows += g.rows;
    for (size_t c = 0; c < columns.size(); ++c) {
      ColumnBuffer& b = columns[c];
      b.chunk.type = info.columns[c].type, b.chunk.codec = Codec::zstd;
      b.chunk.data_at = at, b.chunk.packed = static_cast<int64_t>(b.pages.size());
      put(b.pages);
      g.chunks.push_back(b.chunk);
      b.pages.clear(), b.chunk = {};
    }
    in_group = 0;
  }
};

ParquetWriter::ParquetWriter(std::filesystem::path file, int level, uint64_t group_bytes)
    : s_(std::make_unique<State>()) {
  s_->file = std::move(file), s_->level = level, s_->group_bytes = group_bytes;
  s_->part = s_->file;
  s_->part += ".part";
  s_->out = std::fopen(s_->part.c_str(), "wb");
  if (!s_->out) fail("cannot write {}: {}", s_->part.string(), std::strerror(errno));
  s_->info.columns = {{"id", Type::int64, kUint64, false, true, 1},
                      {"source", Type::bytes, kUtf8, false, true, 1},
                      {"text", Type::bytes, kUtf8, false, true, 1},
                      {"members", Type::bytes, kUtf8, true, true, 1}};
  s_->put("PAR1");
}

ParquetWriter::~ParquetWriter() {
  if (!s_->out) return;
  std::fclose(s_->out);
  std::remove(s_->part.c_str());
}

void ParquetWriter::add(uint64_t id, std::string_view source, std::string_view text, std::string_view members) {
  State& s = *s_;
  s.columns[0].values.append(reinterpret_cast<const char*>(&id), 8);
  put_text(s.columns[1].values, source), put_text(s.columns[2].values, text);
  if (!members.empty()) put_text(s.columns[3].values, members);
  s.columns[3].levels += members.empty() ? '\0' : '\1';
  for (size_t c = 0; c < s.columns.size(); ++c)
    if (++s.columns[c].in_page; s.columns[c].values.size() >= kPageBytes) s.end_page(c);
  s.text += text.size(), s.in_group += text.size() + members.size();
  if (s.in_group >= s.group_bytes) s.end_group();
}

void ParquetWriter::close() {
  State& s = *s_;
  s.end_group();
  const std::string footer = footer_bytes(s.info);
  const auto n = static_cast<uint32_t>(footer.size());
  s.put(footer), s.put({reinterpret_cast<const char*>(&n), 4}), s.put("PAR1");
  std::FILE* f = std::exchange(s.out, nullptr);
  const bool ok = std::fflush(f) == 0 && ::fsync(::fileno(f)) == 0;
  if (std::fclose(f) != 0 || !ok || std::rename(s.part.c_str(), s.file.c_str()) != 0)
    fail("cannot write {}: {}", s.file.string(), std::strerror(errno));
}

uint64_t ParquetWriter::text_bytes() const { return s_->text; }

}  // namespace quern::corpus

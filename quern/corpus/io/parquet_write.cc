// Parquet writer: flat columns, plain values, pages of about one MiB, compressed with zstd.
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
  std::array<ColumnBuffer, 8> columns;

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
  s_->info.columns = {{"id", Type::bytes, kUtf8, true},       {"source", Type::bytes, kUtf8},
                      {"url", Type::bytes, kUtf8, true},      {"date", Type::bytes, kUtf8, true},
                      {"language", Type::bytes, kUtf8, true}, {"language_score", Type::float64, kNoConversion, true},
                      {"text", Type::bytes, kUtf8},           {"members", Type::bytes, kUtf8, true}};
  s_->put("PAR1");
}

ParquetWriter::~ParquetWriter() {
  if (!s_->out) return;
  std::fclose(s_->out);
  std::remove(s_->part.c_str());
}

void ParquetWriter::add(const ParquetRow& row) {
  State& s = *s_;
  auto put = [&, c = size_t{0}](bool there, auto&& value) mutable {
    ColumnBuffer& to = s.columns[c];
    if (there) value(to.values);
    to.levels += there ? '\1' : '\0';
    if (++to.in_page; to.values.size() >= kPageBytes) s.end_page(c);
    ++c;
  };
  const auto text = [&](std::string_view v, bool always = false) {
    put(always || !v.empty(), [&](std::string& to) { put_text(to, v); });
  };
  text(row.id), text(row.source, true), text(row.url), text(row.date), text(row.language);
  put(row.language_score.has_value(),
      [&](std::string& to) { to.append(reinterpret_cast<const char*>(&*row.language_score), sizeof(double)); });
  text(row.text, true), text(row.members);
  s.text += row.text.size(), s.in_group += row.text.size() + row.members.size();
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

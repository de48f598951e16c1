#include "quern/corpus/io/parquet_format.h"

#include <cstring>
#include <limits>

#include "quern/base/error.h"
#include "quern/corpus/io/thrift_compact.h"

namespace quern::corpus::parquet {
namespace {

struct Element {
  std::string name;
  int32_t type = -1, repetition = 0, children = 0, converted = kNoConversion;
  TimeForm logical = {};
  bool text = false;
};

// STRING, ENUM, JSON, TIME and TIMESTAMP of the union of logical types; others say no more than the converted type does.
TimeForm read_logical_type(CompactReader& r, bool& text) {
  TimeForm form;
  r.fields([&](int16_t id, uint8_t t) {
    text |= id == 1 || id == 4 || id == 12;
    if ((id != 7 && id != 8) || t != kStruct) return r.skip(t);
    form.kind = id == 7 ? TimeForm::Kind::time : TimeForm::Kind::timestamp;
    r.fields([&](int16_t k, uint8_t kt) {
      if (k == 1) form.utc = kt == kTrue;
      if (k != 2 || kt != kStruct) return r.skip(kt);
      r.fields([&](int16_t unit, uint8_t ut) {
        if (unit >= 1 && unit <= 3) form.digits = 3 * unit;
        r.skip(ut);
      });
    });
  });
  return form.digits > 0 ? form : TimeForm();
}

// What the file says of a column's dates and times, in the newer way or the older one, which are always UTC.
TimeForm time_form(const Element& e) {
  using Kind = TimeForm::Kind;
  const bool small = e.type == static_cast<int32_t>(Type::int32), large = e.type == static_cast<int32_t>(Type::int64);
  if (small && e.converted == kDate) return {.kind = Kind::date};
  if (e.logical.kind != Kind::none) return small || large ? e.logical : TimeForm();
  if (small && e.converted == kTimeMillis) return {Kind::time, 3, true};
  if (large && e.converted == kTimeMicros) return {Kind::time, 6, true};
  if (large && e.converted == kTimestampMillis) return {Kind::timestamp, 3, true};
  if (large && e.converted == kTimestampMicros) return {Kind::timestamp, 6, true};
  return {};
}

Element read_element(CompactReader& r) {
  Element e;
  r.fields([&](int16_t id, uint8_t t) {
    switch (id) {
      case 1:
        e.type = r.small(t);
        break;
      case 3:
        e.repetition = r.small(t);
        break;
      case 4:
        r.want(t, kBinary), e.name = r.binary();
        break;
      case 5:
        e.children = r.small(t);
        break;
      case 6:
        e.converted = r.small(t);
        break;
      case 10:
        r.want(t, kStruct), e.logical = read_logical_type(r, e.text);
        break;
      default:
        r.skip(t);
    }
  });
  return e;
}

ChunkInfo read_chunk(CompactReader& r) {
  ChunkInfo c;
  bool known = false;
  r.fields([&](int16_t id, uint8_t t) {
    if (id == 1) r.bad("a column in another file");
    if (id != 3) return r.skip(t);
    r.want(t, kStruct);
    known = true;
    r.fields([&](int16_t k, uint8_t kt) {
      switch (k) {
        case 1:
          c.type = static_cast<Type>(r.small(kt));
          break;
        case 4:
          c.codec = static_cast<Codec>(r.small(kt));
          break;
        case 5:
          c.values = r.integer(kt);
          break;
        case 6:
          c.unpacked = r.integer(kt);
          break;
        case 7:
          c.packed = r.integer(kt);
          break;
        case 9:
          c.data_at = r.integer(kt);
          break;
        case 11:
          c.dictionary_at = r.integer(kt);
          break;
        default:
          r.skip(kt);
      }
    });
  });
  if (!known) r.bad("a column without a position");
  return c;
}

constexpr int kMaxDepth = 32;

// The column at `at` of the flattened tree, with what lies in it.
ColumnSchema read_column(const std::vector<Element>& all, size_t& at, const ColumnSchema& above, int depth,
                         const CompactReader& r) {
  if (at >= all.size()) r.bad("a schema that ends early");
  const Element& e = all[at++];
  if (e.children < 0) r.bad("a schema with a negative count");
  if (e.repetition < 0 || e.repetition > 2) r.bad("a column of an unknown kind");
  if (depth > kMaxDepth) r.bad("a schema that is nested too deeply");
  ColumnSchema c{e.name, static_cast<Type>(e.type), e.converted, e.repetition == 1, e.repetition == 2};
  c.def = above.def + (e.repetition != 0), c.rep = above.rep + c.repeated;
  if (e.children == 0) {
    if (e.type < 0 || e.type > 7) r.bad("a column of an unknown type");
    c.time = time_form(e);
    c.text = e.text || e.converted == kUtf8 || e.converted == kEnum || e.converted == kJson;
    return c;
  }
  c.leaves = 0;
  for (int32_t k = 0; k < e.children; ++k) {
    ColumnSchema child = read_column(all, at, c, depth + 1, r);
    c.leaves += child.leaves;
    c.children.push_back(std::move(child));
  }
  return c;
}

std::vector<ColumnSchema> top_columns(const std::vector<Element>& all, const CompactReader& r) {
  if (all.empty() || all[0].children < 0) r.bad("no schema");
  std::vector<ColumnSchema> columns;
  size_t at = 1;
  for (int32_t k = 0; k < all[0].children; ++k) columns.push_back(read_column(all, at, {}, 0, r));
  return columns;
}

}  // namespace

FileInfo read_footer(std::string_view file, const std::string& name) {
  if (file.size() < 12 || !file.starts_with("PAR1"))
    fail("{} is not a Parquet file: expected PAR1 at its beginning", name);
  if (!file.ends_with("PAR1")) fail("{} is cut short: expected PAR1 at the end of a Parquet file", name);
  uint32_t length = 0;
  std::memcpy(&length, file.data() + file.size() - 8, 4);
  if (length > file.size() - 12) fail("{}: a Parquet footer of {} bytes in a file of {}", name, length, file.size());
  CompactReader r(file.substr(file.size() - 8 - length, length), name);
  FileInfo info;
  std::vector<Element> elements;
  r.fields([&](int16_t id, uint8_t t) {
    if (id == 2) {
      r.want(t, kList);
      r.list([&](uint8_t) { elements.push_back(read_element(r)); });
    } else if (id == 3) {
      info.rows = r.integer(t);
    } else if (id == 4) {
      r.want(t, kList);
      r.list([&](uint8_t) {
        GroupInfo& g = info.groups.emplace_back();
        r.fields([&](int16_t k, uint8_t kt) {
          if (k == 1) {
            r.want(kt, kList);
            r.list([&](uint8_t) { g.chunks.push_back(read_chunk(r)); });
          } else if (k == 3) {
            g.rows = r.integer(kt);
          } else {
            r.skip(kt);
          }
        });
      });
    } else {
      r.skip(t);
    }
  });
  info.columns = top_columns(elements, r);
  size_t leaves = 0;
  for (const ColumnSchema& c : info.columns) leaves += c.leaves;
  const auto end = static_cast<int64_t>(file.size() - 8 - length);
  int64_t rows = 0;
  for (const GroupInfo& g : info.groups) {
    if (g.chunks.size() != leaves) r.bad("a row group with another number of columns than the schema");
    if (g.rows < 0 || g.rows > std::numeric_limits<int64_t>::max() - rows) r.bad("a negative number of rows");
    rows += g.rows;
    for (const ChunkInfo& c : g.chunks) {
      const int64_t begin = c.dictionary_at > 0 && c.dictionary_at < c.data_at ? c.dictionary_at : c.data_at;
      if (g.rows == 0) continue;  // never looked at
      if (begin < 4 || c.packed < 0 || begin > end || c.packed > end - begin) r.bad("a column outside the file");
    }
  }
  if (rows != info.rows) r.bad("row groups hold another number of rows than the file says");
  return info;
}

PageInfo read_page_header(std::string_view bytes, size_t& used, const std::string& name) {
  CompactReader r(bytes, name);
  PageInfo p;
  bool body = false;
  r.fields([&](int16_t id, uint8_t t) {
    switch (id) {
      case 1:
        p.type = static_cast<PageType>(r.small(t));
        break;
      case 2:
        p.unpacked = r.small(t);
        break;
      case 3:
        p.packed = r.small(t);
        break;
      case 4:
        p.checksum = static_cast<uint32_t>(r.small(t));
        break;
      case 5:
      case 7:
      case 8:
        r.want(t, kStruct);
        body = true;
        r.fields([&](int16_t k, uint8_t kt) {
          if (k == 1)
            p.values = r.small(kt);
          else if ((k == 2 && id != 8) || (k == 4 && id == 8))
            p.encoding = r.small(kt);
          else if (k == 3 && id == 5)
            p.level_encoding = r.small(kt);
          else if (k == 5 && id == 8)
            p.level_bytes = r.small(kt);
          else if (k == 6 && id == 8)
            p.repetition_bytes = r.small(kt);
          else if (k == 7 && id == 8)
            p.values_packed = kt == kTrue;
          else
            r.skip(kt);
        });
        break;
      default:
        r.skip(t);
    }
  });
  if (p.unpacked < 0 || p.packed < 0 || p.values < 0 || p.level_bytes < 0 || p.repetition_bytes < 0)
    r.bad("a page with a negative length");
  if (!body && p.type != PageType::index) r.bad("a page without its header");
  used = r.at();
  return p;
}

std::string footer_bytes(const FileInfo& info) {
  CompactWriter w;
  w.record([&] {
    w.i32(1, 1);
    w.list(2, kStruct, info.columns.size() + 1);
    w.record([&] { w.text(4, "schema"), w.i32(5, static_cast<int64_t>(info.columns.size())); });
    for (const ColumnSchema& c : info.columns)
      w.record([&] {
        w.i32(1, static_cast<int64_t>(c.type)), w.i32(3, c.optional), w.text(4, c.name);
        if (c.converted != kNoConversion) w.i32(6, c.converted);
      });
    w.i64(3, info.rows);
    w.list(4, kStruct, info.groups.size());
    for (const GroupInfo& g : info.groups)
      w.record([&] {
        int64_t bytes = 0;
        w.list(1, kStruct, g.chunks.size());
        for (size_t i = 0; i < g.chunks.size(); ++i) {
          const ChunkInfo& c = g.chunks[i];
          bytes += c.unpacked;
          w.record([&] {
            w.i64(2, c.data_at);
            w.head(3, kStruct);
            w.record([&] {
              w.i32(1, static_cast<int64_t>(c.type));
              w.list(2, kI32, 2), w.number(0), w.number(3);  // plain, levels in runs
              w.list(3, kBinary, 1), w.text(info.columns[i].name);
              w.i32(4, static_cast<int64_t>(c.codec)), w.i64(5, c.values), w.i64(6, c.unpacked);
              w.i64(7, c.packed), w.i64(9, c.data_at);
            });
          });
        }
        w.i64(2, bytes), w.i64(3, g.rows);
      });
    w.text(6, "quern");
  });
  return std::move(w.out);
}

std::string page_header_bytes(const PageInfo& p) {
  CompactWriter w;
  w.record([&] {
    w.i32(1, static_cast<int64_t>(p.type)), w.i32(2, p.unpacked), w.i32(3, p.packed);
    w.head(5, kStruct);
    w.record([&] { w.i32(1, p.values), w.i32(2, p.encoding), w.i32(3, 3), w.i32(4, 3); });
  });
  return std::move(w.out);
}

}  // namespace quern::corpus::parquet

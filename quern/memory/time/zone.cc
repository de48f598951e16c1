#include "quern/memory/time/zone.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/memory/time/posix_rule.h"

namespace quern::memory {
namespace {

constexpr const char* kFolders[] = {"/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo"};

class TzifReader {  // big-endian numbers, never past the end
 public:
  TzifReader(std::string_view bytes, const std::string& name) : s_(bytes), name_(name) {}
  int64_t number(size_t width) {
    need(width);
    uint64_t v = 0;
    for (size_t i = 0; i < width; ++i) v = v << 8 | static_cast<unsigned char>(s_[at_ + i]);
    at_ += width;
    if (width == 4) return static_cast<int32_t>(static_cast<uint32_t>(v));
    return static_cast<int64_t>(v);
  }
  void skip(size_t n) { need(n), at_ += n; }
  std::string_view rest() const { return s_.substr(at_); }
  struct Header {
    int version;
    size_t utc, standard, leaps, times, types, letters;
  };
  Header header() {
    need(44);
    if (s_.substr(at_, 4) != "TZif") fail("time zone '{}': its table does not begin with TZif", name_);
    Header h{};
    h.version = s_[at_ + 4];
    at_ += 20;
    for (size_t* n : {&h.utc, &h.standard, &h.leaps, &h.times, &h.types, &h.letters}) {
      const int64_t v = number(4);
      if (v < 0 || v > 100000) fail("time zone '{}': its table counts {} entries, expected 0 to 100000", name_, v);
      *n = static_cast<size_t>(v);
    }
    return h;
  }

 private:
  void need(size_t n) const {
    if (n > s_.size() - at_) fail("time zone '{}': its table ends too early", name_);
  }
  std::string_view s_;
  const std::string& name_;
  size_t at_ = 0;
};

bool plain_name(const std::string& name) {
  if (name.empty() || name.size() > 100 || name[0] == '/' || name.find("..") != name.npos) return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '-' || c == '+';
  });
}

// "+02:00", "-0330"; nothing when the name is no offset.
std::optional<int32_t> fixed_offset(const std::string& name) {
  if (name.size() < 3 || (name[0] != '+' && name[0] != '-')) return std::nullopt;
  std::string digits;
  for (size_t i = 1; i < name.size(); ++i)
    if (name[i] != ':' || i != 3) digits += name[i];
  if ((digits.size() != 2 && digits.size() != 4) || digits.find_first_not_of("0123456789") != digits.npos)
    return std::nullopt;
  const int h = std::stoi(digits.substr(0, 2)), m = digits.size() == 4 ? std::stoi(digits.substr(2)) : 0;
  if (h > 18 || m > 59) return std::nullopt;
  return (name[0] == '-' ? -1 : 1) * (h * 3600 + m * 60);
}

}  // namespace

struct Zone::Table {
  std::vector<int64_t> times;    // ascending seconds UTC at which the offset changes
  std::vector<int32_t> offsets;  // from that time on
  int32_t before = 0;            // and before the first of them
  std::optional<PosixRule> rule;
};

Zone::Zone() : name_("UTC") {}

Zone Zone::from_table(std::string name, std::string_view tzif) {
  TzifReader r(tzif, name);
  TzifReader::Header h = r.header();
  size_t width = 4;
  if (h.version >= '2') {  // a second table with wide times follows the old one
    r.skip(h.times * 5 + h.types * 6 + h.letters + h.leaps * 8 + h.standard + h.utc);
    h = r.header();
    width = 8;
  }
  auto t = std::make_shared<Table>();
  for (size_t i = 0; i < h.times; ++i) t->times.push_back(r.number(width));
  std::vector<size_t> kinds;
  for (size_t i = 0; i < h.times; ++i) kinds.push_back(static_cast<size_t>(r.number(1)));
  if (h.types == 0) fail("time zone '{}': its table has no time types", name);
  std::vector<int32_t> offsets;
  bool found_standard = false;
  for (size_t i = 0; i < h.types; ++i) {
    const int64_t offset = r.number(4);
    if (offset < -100000 || offset > 100000) fail("time zone '{}': an offset of {} seconds", name, offset);
    offsets.push_back(static_cast<int32_t>(offset));
    if (r.number(1) == 0 && !found_standard) t->before = offsets.back(), found_standard = true;
    r.skip(1);
  }
  for (const size_t k : kinds) {
    if (k >= offsets.size()) fail("time zone '{}': kind {} of {}", name, k, offsets.size());
    t->offsets.push_back(offsets[k]);
  }
  if (!std::is_sorted(t->times.begin(), t->times.end())) fail("time zone '{}': its times do not ascend", name);
  r.skip(h.letters + h.leaps * (width + 4) + h.standard + h.utc);
  if (width == 8) {
    std::string_view rule = r.rest();
    if (rule.starts_with('\n')) rule.remove_prefix(1);
    t->rule = PosixRule::parse(rule.substr(0, rule.find('\n')));
  }
  Zone z;
  z.name_ = std::move(name), z.table_ = std::move(t);
  return z;
}

Zone Zone::load(const std::string& name) {
  Zone z;
  if (name == "UTC" || name == "Z") return z;
  if (const auto offset = fixed_offset(name)) {
    z.name_ = name, z.fixed_ = *offset;
    return z;
  }
  if (!plain_name(name))
    fail("time zone '{}': expected a name like Europe/Berlin, UTC, or an offset like +02:00", name);
  for (const char* folder : kFolders) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (std::filesystem::is_regular_file(file)) return from_table(name, read_file(file));
  }
  fail("time zone '{}' is not installed on this system (searched {}); UTC and offsets like +02:00 work everywhere",
       name, kFolders[0]);
}

int32_t Zone::offset_at(int64_t utc) const {
  if (!table_) return fixed_;
  const Table& t = *table_;
  if (t.times.empty() || utc < t.times.front()) return t.times.empty() && t.rule ? t.rule->offset_at(utc) : t.before;
  if (utc >= t.times.back() && t.rule) return t.rule->offset_at(utc);
  const auto after = std::upper_bound(t.times.begin(), t.times.end(), utc);
  return t.offsets[static_cast<size_t>(after - t.times.begin()) - 1];
}

int64_t Zone::to_utc(LocalSeconds local) const {
  // Offsets a day before and after bracket any change: the earlier of the two readings that hold is the first time.
  const int32_t before = offset_at(local - kDaySeconds), after = offset_at(local + kDaySeconds);
  if (offset_at(local - before) == before) return local - before;
  if (offset_at(local - after) == after) return local - after;
  return local - before;  // skipped by a change
}

}  // namespace quern::memory

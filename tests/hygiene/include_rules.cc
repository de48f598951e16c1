#include "tests/hygiene/include_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <sstream>

namespace quern::hygiene {
namespace {

constexpr std::array kHeavyHeaders = {
    "nlohmann", "simdjson", "toml++",   "dnnl",  "httplib",  "pcre2",           "utf8proc",     "zstd.h",  "zlib.h",
    "lzma.h",   "bzlib.h",  "xxhash.h", "lz4.h", "snappy.h", "brotli/decode.h", "libstemmer.h", "openssl/"};

constexpr std::ptrdiff_t kMaxLines = 500;
constexpr int kMaxSources = 40;

struct Place {
  std::string room, sub;  // sub: "kernels/gemm", or empty for the room's own files
};

// "quern/kernels/gemm/gemm.h" → {kernels, kernels/gemm}; "apps/quern/main.cc" → {apps, ""}.
std::optional<Place> place_of(std::string_view path) {
  if (path.starts_with("apps/")) return Place{"apps", ""};
  if (path.starts_with("quern/"))
    path.remove_prefix(6);
  else if (!path.starts_with("lab/"))
    return std::nullopt;
  const size_t first = path.find('/');
  if (first == std::string_view::npos) return std::nullopt;
  const size_t second = path.find('/', first + 1);
  return Place{std::string(path.substr(0, first)),
               second == std::string_view::npos ? "" : std::string(path.substr(0, second))};
}

std::string top_of(std::string_view room) { return std::string(room.substr(0, room.find('/'))); }

// Where a top folder begins in the list.
std::optional<size_t> rank(const House& house, std::string_view top) {
  const auto at = std::ranges::find_if(house.rooms, [&](const Room& r) { return top_of(r.name) == top; });
  if (at == house.rooms.end()) return std::nullopt;
  return static_cast<size_t>(at - house.rooms.begin());
}

// Where a room of a top folder stands: its own line, or that of KIND/*.
std::optional<size_t> inner_rank(const House& house, const std::string& room) {
  std::optional<size_t> kind;
  for (size_t i = 0; i < house.rooms.size(); ++i) {
    if (house.rooms[i].name == room) return i;
    if (house.rooms[i].name == top_of(room) + "/*") kind = i;
  }
  return kind;
}

// A room inside a folder has a line of its own, which may stand apart from those of its neighbors.
std::optional<size_t> place_rank(const House& house, const Place& place) {
  const auto own = place.sub.empty() ? std::nullopt : inner_rank(house, place.sub);
  return own ? own : rank(house, place.room);
}

std::string folder(std::string_view path) { return std::string(path.substr(0, path.rfind('/'))); }

bool allowed(const SourceFile& file, const Place& from, const Place& to, const House& house) {
  if (from.room == to.room) {
    if (to.sub.empty() || to.sub == from.sub) return true;
    const auto named = house.siblings.find(from.sub);
    return !from.sub.empty() && named != house.siblings.end() && named->second.contains(to.sub);
  }
  if (to.room == "host" && file.path.ends_with("_bench.cc")) return true;
  return place_rank(house, to) < place_rank(house, from);
}

}  // namespace

std::vector<std::string> includes(std::string_view text) {
  std::vector<std::string> out;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const size_t open = line.find_first_of("\"<", word + 7);
    if (open == std::string::npos) continue;
    const size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    if (close != std::string::npos) out.push_back(line.substr(open + 1, close - open - 1));
  }
  return out;
}

std::set<std::string> named_dependencies(std::string_view cmake_lists) {
  std::set<std::string> out;
  std::istringstream words{std::string(cmake_lists)};
  bool inside = false;
  for (std::string w; words >> w;) {
    const bool last = w.ends_with(')');
    if (last) w.pop_back();
    if (w == "LIBS") inside = false;
    if (inside && !w.empty()) {
      const size_t cut = w.find('_');  // room names have no underscore: the first one ends the room
      out.insert(cut == std::string::npos ? w : w.substr(0, cut) + "/" + w.substr(cut + 1));
    }
    if (w == "DEPS") inside = true;
    if (last) inside = false;
  }
  return out;
}

std::vector<Room> read_rooms(std::string_view rooms_txt) {
  std::vector<Room> out;
  std::istringstream lines{std::string(rooms_txt)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t end = line.find(' ');
    const size_t purpose = line.find_first_not_of(' ', end);
    out.push_back({line.substr(0, end), purpose == std::string::npos ? "" : line.substr(purpose)});
  }
  return out;
}

std::vector<std::string> sibling_complaints(const House& house) {
  std::vector<std::string> out;
  for (const auto& [room, named] : house.siblings)
    for (const std::string& other : named) {
      if (top_of(other) != top_of(room) || other == top_of(room)) continue;
      const auto from = inner_rank(house, room), to = inner_rank(house, other);
      // Plug-ins of one kind may name each other; rooms with a line of their own only those above them.
      if (from && to && *to > *from) out.push_back(fmt::format("{} names {}, which is not above it", room, other));
    }
  return out;
}

std::vector<std::string> direction_complaints(const SourceFile& file, const House& house) {
  std::vector<std::string> out;
  const std::optional<Place> from = place_of(file.path);
  if (!from || !rank(house, from->room))
    return {fmt::format("{}: its folder is not in the list of rooms", file.path)};
  for (const std::string& target : includes(file.text)) {
    const std::optional<Place> to = place_of(target);
    if (!to) continue;  // the standard library and third parties
    if (!rank(house, to->room))
      out.push_back(fmt::format("{} includes {}, which is in no room", file.path, target));
    else if (!allowed(file, *from, *to, house))
      out.push_back(fmt::format("{} includes {}, which is not above it", file.path, target));
  }
  return out;
}

std::vector<std::string> opening_complaints(const SourceFile& file) {
  const std::string_view text = file.text;
  if (text.starts_with("//") || text.starts_with("/*")) return {};
  const std::string first_line(text.substr(0, text.find('\n')));
  const std::vector<std::string> first = includes(first_line);
  if (file.path.ends_with(".cc") && !first.empty() && folder(first[0]) == folder(file.path)) return {};
  return {fmt::format("{} starts without a comment: {}", file.path, first_line)};
}

std::vector<std::string> length_complaints(const SourceFile& file) {
  const std::ptrdiff_t lines = std::count(file.text.begin(), file.text.end(), '\n');
  if (lines <= kMaxLines) return {};
  return {fmt::format("{} has {} lines, more than {}", file.path, lines, kMaxLines)};
}

std::vector<std::string> crowding_complaints(std::span<const SourceFile> files) {
  std::map<std::string, int> sources;
  for (const SourceFile& f : files) ++sources[folder(f.path)];
  std::vector<std::string> out;
  for (const auto& [at, n] : sources)
    if (n > kMaxSources) out.push_back(fmt::format("{} holds {} sources, more than {}", at, n, kMaxSources));
  return out;
}

std::vector<std::string> heavy_header_complaints(std::span<const SourceFile> files) {
  std::vector<std::string> out;
  for (std::string_view heavy : kHeavyHeaders) {
    std::vector<std::string> users;
    for (const SourceFile& f : files)
      for (const std::string& target : includes(f.text))
        if (const size_t at = target.find(heavy);
            !place_of(target) && at != target.npos && (at == 0 || target[at - 1] == '/')) {
          users.push_back(f.path);
          break;
        }
    for (const std::string& user : users)
      if (!user.ends_with(".cc")) out.push_back(fmt::format("{} is included by the header {}", heavy, user));
    if (users.size() > 1)
      out.push_back(fmt::format("{} is included by {} files: {}", heavy, users.size(), fmt::join(users, ", ")));
  }
  return out;
}

std::string namespace_of(std::string_view path) {
  if (path.starts_with("lab/")) return "quern::lab";
  if (path.starts_with("apps/")) return "quern::cli";
  const size_t from = path.find('/') + 1;
  const std::string_view room = path.substr(from, path.find('/', from) - from);
  return room == "base" || room == "tensor" ? "quern" : fmt::format("quern::{}", room);
}

std::vector<std::string> namespace_complaints(const SourceFile& file) {
  const std::string wanted = namespace_of(file.path);
  std::vector<std::string> out;
  std::string space;  // of another room, while only classes are declared there
  std::istringstream lines(file.text);
  const auto other = [&](const std::string& name) {
    out.push_back(fmt::format("{} defines things in namespace {}; its own is {}", file.path, name, wanted));
  };
  for (std::string line; std::getline(lines, line);) {
    static const std::regex opens("namespace (quern[a-z_0-9:]*) \\{.*"), declares("(class|struct) [A-Za-z_0-9]+;.*");
    std::smatch m;
    if (std::regex_match(line, m, opens)) {
      const std::string name = m[1];
      const bool own = name == wanted || (name.starts_with(wanted + "::") && wanted != "quern");
      space = own ? "" : name;
      if (!own && !line.ends_with('{')) other(name), space.clear();
    } else if (line.starts_with("}")) {
      space.clear();
    } else if (!space.empty() && !std::regex_match(line, declares)) {
      other(space);
      space.clear();
    }
  }
  return out;
}

}  // namespace quern::hygiene

// Only whole lines are read, and at most the end of a long file. A file that training has rewritten, because it went back,
// is told by its inode: then a client begins again.
#include "quern/serve/api/runs_api.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "quern/base/nearest.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/wire.h"

namespace quern::serve {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kMaxMetricBytes = int64_t{4} << 20, kMaxSampleBytes = int64_t{256} << 10,
                  kLastBytes = int64_t{64} << 10;
constexpr size_t kSamples = 5;

struct Lines {
  std::vector<Json> values;
  int64_t inode = 0, next = 0, modified = 0;  // next: the byte after the last whole line
  bool from_begin = true;                     // nothing before was left out
};

// Whole lines from a byte on, or of the last bytes when there are more. Lines that are no JSON objects are passed over.
std::optional<Lines> read_lines(const fs::path& file, int64_t inode, int64_t after, int64_t max_bytes) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) return ::close(fd), std::nullopt;
  Lines out;
  out.inode = static_cast<int64_t>(facts.st_ino), out.modified = static_cast<int64_t>(facts.st_mtime);
  const bool known = inode == out.inode && after >= 0 && after <= facts.st_size;
  int64_t from = known ? after : 0;
  const bool cut = facts.st_size - from > max_bytes;
  if (cut) from = facts.st_size - max_bytes;
  out.from_begin = !known, out.next = from;
  std::string text(static_cast<size_t>(facts.st_size - from), '\0');
  const ssize_t n = text.empty() ? 0 : ::pread(fd, text.data(), text.size(), from);
  ::close(fd);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  size_t at = cut ? std::min(text.find('\n'), text.size() - 1) + 1 : 0;
  for (size_t end = text.find('\n', at); end != text.npos; at = end + 1, end = text.find('\n', at)) {
    out.next = from + static_cast<int64_t>(end) + 1;
    try {
      if (Json j = Json::parse(text.substr(at, end - at), "a line"); j.is_object())
        out.values.push_back(std::move(j));
    } catch (const Error&) {  // written by something else: not a metric
    }
  }
  return out;
}

struct Run {
  std::string id;
  fs::path folder;
};

std::vector<Run> find_runs(const fs::path& folder) {
  if (folder.empty())
    throw ApiError(404, "invalid_request_error", "",
                   "this server shows no runs: it was started without a folder of runs");
  std::vector<Run> out;
  std::error_code error;
  auto take = [&](const fs::path& f) {
    if (fs::is_regular_file(f / "metrics.jsonl", error)) out.push_back({f.filename().string(), f});
  };
  const fs::path root = fs::canonical(folder, error);
  if (error) throw ApiError(503, "server_error", "runs", "the server cannot read its folder of runs");
  take(root);
  for (fs::directory_iterator it(root, fs::directory_options::skip_permission_denied, error), end; it != end;
       it.increment(error)) {
    if (error) break;
    if (it->is_directory(error)) take(it->path());
  }
  std::ranges::sort(out, {}, &Run::id);
  return out;
}

Json summary(const Run& run) {
  Json j = Json::object();
  j.set("id", run.id), j.set("object", "run");
  const auto lines = read_lines(run.folder / "metrics.jsonl", 0, 0, kLastBytes);
  if (!lines) return j;
  j.set("updated", lines->modified), j.set("age_seconds", unix_time() - lines->modified);
  for (auto line = lines->values.rbegin(); line != lines->values.rend(); ++line) {
    if (!line->find("loss")) continue;
    for (const char* key : {"step", "phase", "tokens", "loss", "reward"})
      if (const Json* v = line->find(key)) j.set(key, *v);
    break;
  }
  return j;
}

// "INODE.BYTE", as `next` of an earlier answer; anything else begins at the beginning.
std::pair<int64_t, int64_t> read_place(const HttpRequest& r) {
  int64_t inode = 0, byte = 0;
  for (const auto& [key, value] : r.query) {
    if (key != "after" || value == "0") continue;
    const char* end = value.data() + value.size();
    const auto [dot, first] = std::from_chars(value.data(), end, inode);
    bool good = first == std::errc() && dot != end && *dot == '.';
    if (good) {
      const auto [last, second] = std::from_chars(dot + 1, end, byte);
      good = second == std::errc() && last == end;
    }
    if (!good || byte < 0) bad_field("after", "'{}': expected `next` of an earlier answer, or 0", value);
  }
  return {inode, byte};
}

Json list_runs(const fs::path& folder) {
  Json j = Json::object(), list = Json::array();
  for (const Run& run : find_runs(folder)) list.push(summary(run));
  j.set("object", "list"), j.set("data", std::move(list));
  return j;
}

Json follow_run(const fs::path& folder, const std::string& id, const HttpRequest& r) {
  const auto [inode, after] = read_place(r);
  const std::vector<Run> runs = find_runs(folder);
  std::vector<std::string> ids;
  for (const Run& run : runs) ids.push_back(run.id);
  const auto run = std::ranges::find(runs, id, &Run::id);
  if (run == runs.end())
    throw ApiError(404, "invalid_request_error", "",
                   fmt::format("there is no run '{}'; GET /v1/runs lists them{}", id, did_you_mean(id, ids)));
  Json j = summary(*run), metrics = Json::array(), samples = Json::array();
  if (auto lines = read_lines(run->folder / "metrics.jsonl", inode, after, kMaxMetricBytes)) {
    for (Json& line : lines->values) metrics.push(std::move(line));
    j.set("next", fmt::format("{}.{}", lines->inode, lines->next)), j.set("reset", lines->from_begin);
  }
  if (auto lines = read_lines(run->folder / "rollouts.jsonl", 0, 0, kMaxSampleBytes)) {
    auto& all = lines->values;
    for (size_t i = 0; i < std::min(all.size(), kSamples); ++i) samples.push(std::move(all[all.size() - 1 - i]));
  }
  j.set("metrics", std::move(metrics)), j.set("samples", std::move(samples));
  return j;
}

}  // namespace

Json runs_json(const fs::path& folder, const HttpRequest& r) {
  constexpr std::string_view kBelow = "/v1/runs/";
  return r.path.starts_with(kBelow) ? follow_run(folder, r.path.substr(kBelow.size()), r) : list_runs(folder);
}

}  // namespace quern::serve

// The writer appends each line with one write() and truncates a line that the disk had no room for; the reader tells
// the kinds of lines by the key that only one kind has: loss, eval_loss, event.
#include "quern/train/report/metrics.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "quern/base/config.h"
#include "quern/base/mmap.h"

namespace quern::train {
namespace {

// Like ConfigWriter, but what is unknown is left out.
struct LineWriter {
  Json& json;
  template <class T>
  void operator()(const char* name, T& field, const char*) {
    json.set(name, write_value(field));
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& field, const char*) {
    if (field) json.set(name, write_value(*field));
  }
};

template <class M>
std::string line_of(M m) {
  Json j = Json::object();
  LineWriter w{j};
  m.visit(w);
  return j.dump() + "\n";
}

struct Lines {
  std::vector<std::string_view> all;
  bool last_is_open = false;  // no newline at the end
};

Lines split_lines(std::string_view text) {
  Lines l;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    l.last_is_open = end == text.npos;
    l.all.push_back(text.substr(at, l.last_is_open ? text.npos : end - at));
    at += l.all.back().size() + 1;
  }
  return l;
}

bool is_blank(std::string_view s) { return s.find_first_not_of(" \t\r") == s.npos; }

std::optional<Json> object_of(std::string_view line) {
  try {
    Json j = Json::parse(line);
    if (j.is_object()) return j;
  } catch (const Error&) {
  }
  return {};
}

// Whether a line may stay when training goes back to `step`.
bool stays(std::string_view line, int64_t step) {
  const std::optional<Json> j = object_of(line);
  if (!j) return false;
  if (j->find("event")) return step != MetricsFile::kNew;
  const Json* s = j->find("step");
  return s && s->is_int() && s->as_int() <= step;
}

void write_all(int fd, std::string_view text, const std::filesystem::path& path) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("cannot write {}: {}", path.string(), n < 0 ? std::strerror(errno) : "nothing was written");
    done += static_cast<size_t>(n);
  }
}

int open_to_append(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) fail("cannot write {}: {}", path.string(), std::strerror(errno));
  return fd;
}

template <class M>
M read_line(const Json& j, const std::string& where) {
  M m;
  j.at("step", where);
  from_json(j, m, where);
  if (m.step < 0 || m.tokens < 0) fail("{}: step {} and tokens {} must be 0 or more", where, m.step, m.tokens);
  return m;
}

template <class K, class M>
std::vector<M> values_of(std::map<K, M>&& by_key) {
  std::vector<M> out;
  out.reserve(by_key.size());
  for (auto& [k, m] : by_key) out.push_back(std::move(m));
  return out;
}

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& run, int64_t resumed_at)
    : path_(run / "metrics.jsonl"), discarded_path_(run / "metrics.discarded.jsonl") {
  discard_after(resumed_at);
}

MetricsFile::~MetricsFile() {
  if (fd_ >= 0) ::close(fd_);
}

void MetricsFile::open() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = open_to_append(path_);
}

// First the lines that go are safe elsewhere, then the file without them replaces the old one: a run killed between
// the two has some lines twice and none lost.
void MetricsFile::discard_after(int64_t step) {
  if (!std::filesystem::exists(path_)) return open();
  const std::string text = read_file(path_);
  const Lines lines = split_lines(text);
  std::string kept, gone;
  int64_t n_gone = 0;
  for (std::string_view line : lines.all) {
    if (is_blank(line)) continue;
    const bool stay = stays(line, step);
    n_gone += !stay;
    (stay ? kept : gone).append(line).push_back('\n');
  }
  if (n_gone > 0) {
    const int fd = open_to_append(discarded_path_);
    try {
      write_all(fd, gone, discarded_path_);
    } catch (...) {
      ::close(fd);
      throw;
    }
    if (::fsync(fd) != 0 || ::close(fd) != 0)
      fail("cannot write {}: {}", discarded_path_.string(), std::strerror(errno));
  }
  if (kept != text) write_file(path_, kept);
  discarded_ += n_gone;
  open();
}

void MetricsFile::append(const std::string& line) {
  struct stat st {};
  if (::fstat(fd_, &st) != 0) fail("cannot write {}: {}", path_.string(), std::strerror(errno));
  try {
    write_all(fd_, line, path_);
  } catch (...) {  // half a line would spoil the next one
    if (::ftruncate(fd_, st.st_size) != 0)
      fail("cannot write {}, nor repair it: {}", path_.string(), std::strerror(errno));
    throw;
  }
}

void MetricsFile::write(const StepMetrics& m) { append(line_of(m)); }
void MetricsFile::write(const EvalMetrics& m) { append(line_of(m)); }
void MetricsFile::write(const EventMetrics& m) { append(line_of(m)); }

RunMetrics read_metrics(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  const Lines lines = split_lines(text);
  std::map<int64_t, StepMetrics> steps;
  std::map<std::pair<int64_t, std::string>, EvalMetrics> evals;
  RunMetrics run;
  for (size_t i = 0; i < lines.all.size(); ++i) {
    if (is_blank(lines.all[i])) continue;
    const std::string where = fmt::format("{}:{}", file.string(), i + 1);
    const std::optional<Json> j = object_of(lines.all[i]);
    if (!j && lines.last_is_open && i + 1 == lines.all.size()) break;
    if (!j) fail("{}: expected a JSON object, found '{}'", where, lines.all[i].substr(0, 60));
    if (j->find("loss")) {
      StepMetrics m = read_line<StepMetrics>(*j, where);
      steps[m.step] = std::move(m);
    } else if (j->find("eval_loss")) {
      EvalMetrics m = read_line<EvalMetrics>(*j, where);
      evals[{m.step, m.set}] = std::move(m);
    } else if (j->find("event")) {
      EventMetrics m = read_line<EventMetrics>(*j, where);
      if (std::find(run.events.begin(), run.events.end(), m) == run.events.end()) run.events.push_back(std::move(m));
    } else {
      fail("{}: a line has the key 'loss' (a step), 'eval_loss' (an evaluation) or 'event'; found none", where);
    }
  }
  run.steps = values_of(std::move(steps));
  run.evals = values_of(std::move(evals));
  return run;
}

}  // namespace quern::train

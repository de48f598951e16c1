#include "quern/corpus/run/shards.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "quern/base/error.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {
namespace fs = std::filesystem;

void prepare_output(const fs::path& folder) { refuse_finished(folder); }

ShardWriter::ShardWriter(fs::path folder, std::string name, int level, uint64_t bytes, const ShardPosition& from)
    : folder_(std::move(folder)), name_(std::move(name)), level_(level), bytes_(bytes), p_(from) {
  for (uint64_t i = 0; i < p_.begun; ++i) names_.push_back(fmt::format("{}-{:05}.jsonl.zst", name_, i));
  if (!p_.open) return;
  file_ = folder_ / names_.back();
  fs::path part = file_;
  part += ".part";
  if (!fs::exists(part) && fs::exists(file_)) fs::rename(file_, part);  // it was filled after the position was noted
  if (!fs::exists(part) || fs::file_size(part) < p_.packed)
    fail("{}: expected at least the {} bytes that were written before", part.string(), p_.packed);
  fs::resize_file(part, p_.packed);
  open("ab");
}

ShardWriter::~ShardWriter() {
  if (out_) std::fclose(out_);
}

void ShardWriter::open(const char* how) {
  out_ = std::fopen((file_.string() + ".part").c_str(), how);
  if (!out_) fail("cannot write {}.part: {}", file_.string(), std::strerror(errno));
}

void ShardWriter::begin() {
  names_.push_back(fmt::format("{}-{:05}.jsonl.zst", name_, names_.size()));
  file_ = folder_ / names_.back();
  list_file(folder_ / RunFolder::kName, {names_.back(), name_ != "reject" && name_ != "sketch"});
  open("wb");
  ++p_.begun;
  p_.open = true, p_.unpacked = 0, p_.packed = 0;
}

void ShardWriter::finish() {
  if (!p_.open) return;
  std::FILE* f = std::exchange(out_, nullptr);
  const bool ok = std::fflush(f) == 0 && ::fsync(::fileno(f)) == 0;
  if (std::fclose(f) != 0 || !ok || std::rename((file_.string() + ".part").c_str(), file_.c_str()) != 0)
    fail("cannot write {}: {}", file_.string(), std::strerror(errno));
  p_.bytes_out += p_.packed;
  p_.open = false;
}

void ShardWriter::write_frame(std::string_view frame, uint64_t unpacked) {
  if (frame.empty()) return;
  if (p_.open && p_.unpacked + unpacked > bytes_) finish();
  if (!p_.open) begin();
  if (std::fwrite(frame.data(), 1, frame.size(), out_) != frame.size())
    fail("cannot write {}.part: {}", file_.string(), std::strerror(errno));
  p_.unpacked += unpacked, p_.packed += frame.size();
}

ShardPosition ShardWriter::position() {
  if (p_.open && std::fflush(out_) != 0) fail("cannot write {}.part: {}", file_.string(), std::strerror(errno));
  return p_;
}

void ShardWriter::close() {
  if (names_.empty()) {  // an empty file is one empty frame
    std::string nothing;
    zstd_frame({}, level_, nothing);
    write_frame(nothing, 0);
  }
  finish();
}

}  // namespace quern::corpus

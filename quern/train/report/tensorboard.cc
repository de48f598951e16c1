// Varints, the five message types, the framing, and the mapping of metrics to tags.
#include "quern/train/report/tensorboard.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "quern/base/error.h"
#include "quern/train/checkpoint/crc.h"

namespace quern::train {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
void put_raw(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

void put_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out.push_back(static_cast<char>(v | 0x80));
  out.push_back(static_cast<char>(v));
}

enum class Wire : uint64_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_key(std::string& out, uint64_t field, Wire wire) {
  put_varint(out, field << 3 | static_cast<uint64_t>(wire));
}

void put_bytes(std::string& out, uint64_t field, std::string_view v) {
  put_key(out, field, Wire::bytes);
  put_varint(out, v.size());
  out += v;
}

std::string event(double wall_time, int64_t step) {
  std::string e;
  put_key(e, 1, Wire::fixed64);
  put_raw(e, wall_time);
  if (step != 0) {
    put_key(e, 2, Wire::varint);
    put_varint(e, static_cast<uint64_t>(step));
  }
  return e;
}

uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  return std::rotr(crc, 15) + 0xa282ead8u;
}

std::string record(std::string_view payload) {
  std::string r;
  put_raw(r, static_cast<uint64_t>(payload.size()));
  put_raw(r, masked_crc(r));
  r += payload;
  put_raw(r, masked_crc(payload));
  return r;
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

float narrow(double v) { return static_cast<float>(v); }

}  // namespace

std::string tensorboard_head(double wall_time) {
  std::string e = event(wall_time, 0);
  put_bytes(e, 3, "brain.Event:2");
  return record(e);
}

std::string tensorboard_session(double wall_time, int64_t first_step) {
  std::string log, e = event(wall_time, first_step);
  put_key(log, 1, Wire::varint);
  put_varint(log, 1);
  put_bytes(e, 7, log);
  return record(e);
}

std::string tensorboard_scalars(double wall_time, int64_t step, std::span<const Scalar> scalars) {
  std::string summary, e = event(wall_time, step);
  for (const Scalar& s : scalars) {
    std::string value;
    put_bytes(value, 1, s.tag);
    put_key(value, 2, Wire::fixed32);
    put_raw(value, s.value);
    put_bytes(summary, 1, value);
  }
  put_bytes(e, 5, summary);
  return record(e);
}

TensorboardFile::TensorboardFile(const std::filesystem::path& folder, int64_t resumed_at) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail("cannot make {}: {}", folder.string(), error.message());
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const double start = now();
  // The part before the host is what TensorBoard looks for; the number keeps two runs in one second apart.
  for (int again = 0;; ++again) {
    path_ = folder /
            fmt::format("events.out.tfevents.{:010}.{}.{}.{}", static_cast<int64_t>(start), host, ::getpid(), again);
    file_ = std::fopen(path_.c_str(), "wbx");
    if (file_) break;
    if (errno != EEXIST) fail("cannot write {}: {}", path_.string(), std::strerror(errno));
  }
  append(tensorboard_head(start));
  if (resumed_at > 0) discard_after(resumed_at);
}

TensorboardFile::~TensorboardFile() { std::fclose(file_); }

void TensorboardFile::append(const std::string& records) {
  if (std::fwrite(records.data(), 1, records.size(), file_) != records.size() || std::fflush(file_) != 0)
    fail("cannot write {}: {}", path_.string(), std::strerror(errno));
}

void TensorboardFile::discard_after(int64_t step) { append(tensorboard_session(now(), step + 1)); }

void TensorboardFile::write(const StepMetrics& m) {
  std::vector<Scalar> s{{"train/loss", narrow(m.loss)},
                        {"train/lr", narrow(m.lr)},
                        {"train/grad_norm", narrow(m.grad_norm)},
                        {"train/tokens", narrow(static_cast<double>(m.tokens))}};
  if (m.bpb) s.push_back({"train/bits_per_byte", narrow(*m.bpb)});
  if (m.tokens_per_s) s.push_back({"speed/tokens_per_s", narrow(*m.tokens_per_s)});
  if (m.mfu) s.push_back({"speed/mfu", narrow(*m.mfu)});
  for (const auto& [tag, v] : {std::pair{"preference/margin", m.margin},
                               {"preference/accuracy", m.accuracy},
                               {"rl/reward", m.reward},
                               {"rl/solved", m.solved},
                               {"rl/signal", m.signal},
                               {"rl/answer_tokens", m.answer_tokens},
                               {"rl/finished", m.finished},
                               {"rl/difficulty", m.difficulty},
                               {"rl/staleness", m.staleness},
                               {"rl/masked", m.masked},
                               {"rl/kl", m.kl},
                               {"rl/entropy", m.entropy},
                               {"rl/max_ratio", m.max_ratio},
                               {"rl/repeated", m.repeated},
                               {"rl/rare", m.rare}})
    if (v) s.push_back({tag, narrow(*v)});
  for (auto [tag, v] : {std::pair{"time/step", m.time_s},
                        {"time/data", m.data_s},
                        {"time/forward", m.forward_s},
                        {"time/backward", m.backward_s},
                        {"time/reduce", m.reduce_s},
                        {"time/optimizer", m.optimizer_s},
                        {"time/checkpoint", m.checkpoint_s},
                        {"time/other", m.other_s}})
    s.push_back({tag, narrow(v)});
  append(tensorboard_scalars(now(), m.step, s));
}

void TensorboardFile::write(const EvalMetrics& m) {
  const std::string loss = "eval/" + m.set + "/loss", bpb = "eval/" + m.set + "/bits_per_byte";
  std::vector<Scalar> s{{loss, narrow(m.eval_loss)}};
  if (m.eval_bpb) s.push_back({bpb, narrow(*m.eval_bpb)});
  append(tensorboard_scalars(now(), m.step, s));
}

}  // namespace quern::train

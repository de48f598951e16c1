// The index's vectors: made for the chunks of a new segment, read with it, compared with a question.
#include <algorithm>

#include "quern/recall/store/store.h"

namespace quern::recall {
namespace {

namespace fs = std::filesystem;

constexpr size_t kAtOnce = 256;  // chunks handed to the encoder

std::string text_of(const Segment& s, size_t row) {
  const uint32_t c = s.view().last[row];
  const Chunk& chunk = s.chunks()[c];
  const std::string_view path = s.path_of(c), text = s.text().substr(chunk.begin, chunk.end - chunk.begin);
  return path.empty() ? std::string(text) : fmt::format("{}\n{}", path, text);
}

}  // namespace

std::string vector_file_of(const std::string& segment) { return fs::path(segment).stem().string() + ".qrv"; }

Json IndexEncoder::json() const {
  Json j = Json::object();
  j.set("fingerprint", fingerprint), j.set("name", name), j.set("width", width);
  return j;
}

IndexEncoder IndexEncoder::from(const Json& j) {
  IndexEncoder e{.fingerprint = j.at("fingerprint").as_string("fingerprint"),
                 .name = j.at("name").as_string("name"),
                 .width = j.at("width").as_int("width")};
  if (e.width < 1 || e.width > 1 << 20) fail("encoder: width {} is out of range", e.width);
  return e;
}

void RecallStore::use_encoder(std::shared_ptr<const ChunkEncoder> encoder, EncodingProgress progress) {
  if (made_by_.width > 0 && encoder->fingerprint() != made_by_.fingerprint)
    fail(
        "{}: its vectors are by {} (fingerprint {}), and {} has fingerprint {}: use that encoder, or make a new "
        "index",
        folder_.string(), made_by_.name, made_by_.fingerprint, encoder->name(), encoder->fingerprint());
  encoder_ = std::move(encoder), progress_ = std::move(progress), words_alone_ = false;
}

void RecallStore::use_words_alone() { encoder_ = nullptr, words_alone_ = true; }

// Every row of the new segment: copied where a vector of the same text is there, else encoded.
void RecallStore::write_vectors(const std::string& name) const {
  const IndexEncoder by = vectors_by();
  if (by.width == 0) return;
  const Segment s(folder_ / name, options_);
  const size_t n = s.view().rows();
  Tensor rows = Tensor::zeros({static_cast<int64_t>(n), by.width}, DType::f32);
  std::vector<uint64_t> keys(n);
  std::vector<size_t> missing;
  for (size_t i = 0; i < n; ++i) {
    keys[i] = vector_key(text_of(s, i));
    const std::span<float> out(rows.data<float>() + static_cast<int64_t>(i) * by.width,
                               static_cast<size_t>(by.width));
    const bool there =
        std::any_of(vectors_.begin(), vectors_.end(), [&](const auto& v) { return v && v->copy_row(keys[i], out); });
    if (!there) missing.push_back(i);
  }
  if (!missing.empty() && !encoder_)
    fail("{}: its chunks have vectors by {}: name that encoder to add text", folder_.string(), by.name);
  for (size_t from = 0; from < missing.size(); from += kAtOnce) {
    const size_t to = std::min(missing.size(), from + kAtOnce);
    std::vector<std::string> texts;
    for (size_t i = from; i < to; ++i) texts.push_back(text_of(s, missing[i]));
    const Tensor fresh = encoder_->chunks(texts);
    for (size_t i = from; i < to; ++i)
      std::copy_n(fresh.data<float>() + static_cast<int64_t>(i - from) * by.width, by.width,
                  rows.data<float>() + static_cast<int64_t>(missing[i]) * by.width);
    if (progress_) progress_(static_cast<int64_t>(to), static_cast<int64_t>(missing.size()));
  }
  write_chunk_vectors(folder_ / vector_file_of(name), keys, rows);
}

IndexEncoder RecallStore::vectors_by() const {
  if (made_by_.width > 0 || !encoder_) return made_by_;
  return {encoder_->fingerprint(), encoder_->name(), encoder_->width()};
}

std::vector<std::vector<float>> RecallStore::cosines(std::string_view question) const {
  std::vector<std::vector<float>> out;
  if (!encoder_ || made_by_.width == 0) return out;
  const Tensor q = encoder_->question(std::string(question));
  for (const auto& v : vectors_) out.push_back(v->cosines(q));
  return out;
}

}  // namespace quern::recall

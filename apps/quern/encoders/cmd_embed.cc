// quern embed: vectors, or the scores of a head, of the lines of a file.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/standard_input.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/encoders/encoder_flags.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"
#include "quern/encoders/text_encoder.h"
#include "quern/encoders/words/shipped_words.h"
#include "quern/encoders/words/word_vectors.h"

namespace quern::cli {
namespace {

struct EmbedFlags {
  std::string dir, file = "-", out, role = "plain";
  bool scores = false, json_lines = false;
  EncoderFlags encoder;
};

encoders::TextRole role_of(const std::string& name) {
  if (name == "plain") return encoders::TextRole::plain;
  if (name == "query") return encoders::TextRole::query;
  if (name == "document") return encoders::TextRole::document;
  throw UsageError(fmt::format("quern embed: --role '{}': expected plain, query or document", name));
}

std::vector<std::string> read_texts(const EmbedFlags& f) {
  const std::string all = f.file == "-" ? standard_input() : read_file(f.file);
  std::vector<std::string> out;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\n', at), all.size());
    std::string line = all.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.pop_back();
    if (!f.json_lines) {
      out.push_back(std::move(line));
      continue;
    }
    const std::string where = fmt::format("{}, line {}", f.file, out.size() + 1);
    const Json j = Json::parse(line, where);
    out.push_back(j.is_string() ? j.as_string() : j.at("text", where).as_string(where));
  }
  if (out.empty()) fail("{}: no text in it", f.file == "-" ? "standard input" : f.file);
  return out;
}

// Lines with a tab are pairs; all of them, or none.
encoders::EncoderResult score_lines(const encoders::TextEncoder& e, const std::vector<std::string>& texts) {
  std::vector<encoders::TextEncoder::Pair> pairs;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view line = texts[i];
    const size_t tab = line.find('\t');
    if (tab != line.npos && pairs.size() == i) pairs.push_back({line.substr(0, tab), line.substr(tab + 1)});
    if ((tab != line.npos) != (pairs.size() == i + 1) || (tab == line.npos && !pairs.empty()))
      fail("line {} is {}, the lines before it are not: give all lines one tab, or none", i + 1,
           tab == line.npos ? "a single text" : "a pair");
  }
  return pairs.empty() ? e.score(texts) : e.score_pairs(pairs);
}

void print_rows(const Tensor& rows, const std::vector<std::string>& labels) {
  LineFile out("-");
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    Json line = labels.empty() ? Json::array() : Json::object();
    for (int64_t k = 0; k < rows.dim(1); ++k) {
      const Json value(rows.item(i * rows.dim(1) + k));
      if (labels.empty())
        line.push(value);
      else
        line.set(labels[static_cast<size_t>(k)], value);
    }
    out.write(line.dump() + "\n");
  }
  out.commit();
}

void write_rows(const EmbedFlags& f, const encoders::EncoderResult& r, const std::vector<std::string>& labels,
                double seconds) {
  if (f.out.empty()) return print_rows(r.rows, labels);
  save_npy(f.out, r.rows);
  fmt::print("{}: {} × {}, {} tokens in {:.3f} s\n", f.out, r.rows.dim(0), r.rows.dim(1), r.tokens, seconds);
}

int embed_by_words(const EmbedFlags& f, const encoders::WordEncoder& encoder, const std::vector<std::string>& texts) {
  if (f.scores) fail("{}: a word encoder gives vectors and has no head for --scores", f.dir);
  const Stopwatch watch;
  encoders::WordVectors v = encoders::embed_texts(encoder, texts);
  write_rows(f, {.rows = std::move(v.rows), .tokens = v.words}, {}, watch.seconds());
  return 0;
}

}  // namespace

int cmd_embed(Words args) {
  EmbedFlags f;
  Args a("embed",
         "vectors or scores of texts by an encoder (BERT, MiniLM, DeBERTa, ModernBERT, or words, which ships)");
  a.positional("DIR", f.dir)
      .optional_positional("FILE", f.file)
      .flag("--out FILE", f.out, "write the rows to a .npy file instead of printing them")
      .flag("--role ROLE", f.role, "prompt of the model to put before each text: plain, query or document")
      .flag("--scores", f.scores, "print what the model's classification head says instead of vectors")
      .flag("--jsonl", f.json_lines, "lines are JSON strings, or objects with a field text")
      .settings(f.encoder)
      .note(
          "FILE has one text per line; without it, or with -, texts come from stdin. Vectors have length 1 and are\n"
          "printed as JSON arrays, scores as JSON objects by label. With --scores, lines with a tab are pairs, as\n"
          "rerankers read them: query, tab, document.");
  if (!a.parse(args)) return 0;
  const encoders::TextRole role = role_of(f.role);
  const kernels::QuantFormat format = checked_usage("embed", [&] { return f.encoder.parsed(); });
  const std::vector<std::string> texts = read_texts(f);
  const std::string folder = model_folder(f.dir);
  if (encoders::is_word_encoder(folder)) return embed_by_words(f, encoders::load_word_encoder(folder), texts);
  const auto encoder = encoders::TextEncoder::load(folder, format);
  const Stopwatch watch;
  const encoders::EncoderResult r = f.scores ? score_lines(encoder, texts) : encoder.embed(texts, role);
  const double seconds = watch.seconds();
  if (r.truncated > 0)
    fmt::print(stderr, "{} of {} texts were cut to {} tokens\n", r.truncated, texts.size(), encoder.max_tokens());
  write_rows(f, r, f.scores ? encoder.labels() : std::vector<std::string>(), seconds);
  return 0;
}

}  // namespace quern::cli

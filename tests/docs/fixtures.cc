#include "tests/docs/fixtures.h"

#include <fmt/format.h>

#include <sstream>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "tests/cli/shell.h"
#include "tests/docs/gguf_file.h"

namespace quern::docs {
namespace {

namespace fs = std::filesystem;

constexpr int kSentences = 12, kParagraph = 4;  // of a document

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

std::string json_line(const std::string& id, const std::string& text) {
  return Json(Json::Object{{"id", id}, {"text", text}}).dump() + "\n";
}

}  // namespace

std::string corpus_lines(const std::vector<std::string>& sentences, const std::string& source, int documents) {
  Rng rng(1, source.size());
  std::vector<std::string> texts;
  for (int d = 0; d < documents; ++d) {
    std::vector<std::string> left = sentences;  // no sentence twice in a document
    std::string text;
    for (int s = 0; s < kSentences; ++s) {
      const auto at = left.begin() + static_cast<std::ptrdiff_t>(rng.below(left.size()));
      text += (s == 0 ? "" : s % kParagraph == 0 ? "\n\n" : " ") + *at;
      left.erase(at);
    }
    texts.push_back(text);
  }
  std::string out;
  for (int d = 0; d < documents; ++d)
    out += json_line(fmt::format("{}-{}", source, d), texts[static_cast<size_t>(d)]);
  for (int d = 0; d < documents; ++d) {
    std::string text = texts[static_cast<size_t>(d)];
    if (d % 8 == 0) out += json_line(fmt::format("{}-{}-copy", source, d), text);
    if (d % 9 != 1) continue;
    const size_t word = text.rfind(' ');
    out += json_line(fmt::format("{}-{}-near", source, d), text.substr(0, word) + " indeed.");
  }
  return out;
}

void make_fixtures(const fs::path& folder) {
  const fs::path ours = fs::path(QUERN_SOURCE_DIR) / "tests/docs/fixtures", root = QUERN_SOURCE_DIR;
  fs::create_directories(folder / "corpus");
  for (const auto& [family, name] : {std::pair{"zaya", "ZAYA1-8B"}, {"zamba2", "Zamba2-2.7B"}, {"llama", "Llama"}}) {
    const Ran r =
        shell(fmt::format("quern new --family {} --size tiny --seed 1 '{}'", family, (folder / name).string()));
    if (r.code != 0) fail("quern new --family {}: {}", family, r.err);
  }
  for (const auto& [encoder, name] :
       {std::pair{"bert-mean", "MiniLM"}, {"bert-rerank", "reranker"}, {"deberta-v3", "classifier"}})
    fs::copy(root / "quern/encoders/testdata" / encoder, folder / name, fs::copy_options::recursive);
  const std::vector<std::string> sentences = lines_of(read_file(ours / "sentences.txt"));
  write_file(folder / "corpus/books.jsonl", corpus_lines(sentences, "books", 60));
  write_file(folder / "corpus/web.jsonl", corpus_lines(sentences, "web", 120));
  for (const char* name : {"chats.jsonl", "questions.txt", "notes"})
    fs::copy(ours / name, folder / name, fs::copy_options::recursive);
  for (const char* name : {"recipes", "examples"}) fs::copy(root / name, folder / name, fs::copy_options::recursive);
  write_tiny_gguf(folder / "model.gguf", root / "tests/goldens/gguf-tokenizers/llama.gguf",
                  read_file(folder / "Llama/chat_template.jinja"));
}

}  // namespace quern::docs

#include "quern/data/build.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/data/chat_example.h"
#include "quern/data/indexed.h"
#include "quern/text/unicode/utf8.h"

namespace quern::data {
namespace {

struct Raw {
  std::string text;  // a document, or a line of JSON
  std::string where;
  bool json = false;
};

struct Encoded {
  std::vector<int32_t> tokens, learned;
  int64_t bytes = 0, reasoning = 0, reasoning_kept = 0;
  enum class DocStatus { kept, trimmed, dropped, empty, bad } status = DocStatus::kept;
  std::string error;
};

// Calls emit for every document of a file.
void read_documents(const std::string& file, bool json, const BuildOptions& o, const std::function<void(Raw)>& emit) {
  std::ifstream f(file, std::ios::binary);
  if (!f) fail("cannot open {}", file);
  Raw document{{}, file, json};
  int64_t line_number = 0;
  auto flush = [&] {
    if (!document.text.empty()) emit(std::exchange(document, Raw{{}, file, json}));
  };
  for (std::string line; std::getline(f, line);) {
    ++line_number;
    const bool ended = !f.eof();
    if (json || o.split == BuildOptions::Split::line) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.find_first_not_of(" \t") != line.npos)
        emit({std::move(line), fmt::format("{}:{}", file, line_number), json});
      continue;
    }
    if (o.split == BuildOptions::Split::blank && line.find_first_not_of(" \t\r") == line.npos) {
      flush();
      continue;
    }
    if (document.text.empty()) document.where = fmt::format("{}:{}", file, line_number);
    document.text += line;
    if (ended) document.text += '\n';
  }
  if (f.bad()) fail("cannot read {}", file);
  flush();
}

void check_utf8(const Raw& r) {
  const size_t bad = text::utf8_error(r.text);
  if (bad == std::string::npos) return;
  const auto lines = std::count(r.text.begin(), r.text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
  fail("{}: not UTF-8 at byte {} of its text{}", r.where, bad,
       lines > 0 ? fmt::format(", {} lines further down", lines) : "");
}

class Encoder {
 public:
  Encoder(const text::Tokenizer& t, const text::ChatTemplate& c, const BuildOptions& o)
      : tokenizer_(t), template_(c), o_(o) {}

  Encoded operator()(const Raw& r) const {
    Encoded e;
    try {
      check_utf8(r);
      if (!r.json) {
        plain(r.text, e);
      } else {
        const Json j = Json::parse(r.text, r.where);
        if (o_.form == BuildOptions::Form::chat)
          chat(j.at("messages", r.where), r.where, e);
        else
          plain(j.at(o_.field, r.where).as_string(fmt::format("{}, {}", r.where, o_.field)), e);
      }
    } catch (const Error& error) {
      e = {};
      e.status = Encoded::DocStatus::bad, e.error = error.what();
    }
    return e;
  }

 private:
  void plain(const std::string& text, Encoded& e) const {
    if (text.empty()) return void(e.status = Encoded::DocStatus::empty);
    e.bytes = static_cast<int64_t>(text.size());
    e.tokens = tokenizer_.encode(text, {.parse_special = false});
    if (o_.end_token && tokenizer_.eos_id() >= 0) e.tokens.push_back(tokenizer_.eos_id());
  }

  void chat(const Json& messages, const std::string& where, Encoded& e) const {
    const ChatExample x = encode_chat(messages, template_, tokenizer_, where);
    const std::optional<ChatExample> y = o_.max_tokens > 0 ? ap_trim(x, o_.max_tokens) : x;
    if (!y) return void(e.status = Encoded::DocStatus::dropped);
    for (const ChatExample::Span& s : x.reasonings) e.reasoning += s.size();
    for (const ChatExample::Span& s : y->reasonings) e.reasoning_kept += s.size();
    if (y->size() < x.size()) e.status = Encoded::DocStatus::trimmed;
    e.tokens = y->tokens;
    e.learned.assign(y->learned.begin(), y->learned.end());
    for (const Json& m : messages.as_array()) e.bytes += static_cast<int64_t>(m.at("content").as_string().size());
  }

  const text::Tokenizer& tokenizer_;
  const text::ChatTemplate& template_;
  const BuildOptions& o_;
};

}  // namespace

Json BuildReport::json() const {
  Json j = Json::object();
  j.set("documents", documents), j.set("tokens", tokens), j.set("bytes", bytes);
  j.set("bad", bad), j.set("empty", empty);
  j.set("learnt", learned), j.set("trimmed", trimmed), j.set("dropped", dropped);
  j.set("kept_reasoning", kept_reasoning);
  return j;
}

BuildReport build_shards(const std::vector<std::string>& files, const text::Tokenizer& tokenizer,
                         const text::ChatTemplate& chat_template, const std::filesystem::path& prefix,
                         const BuildOptions& o, const std::function<void(const BuildReport&)>& on_progress) {
  constexpr size_t kBatchDocuments = 512, kBatchBytes = 16 << 20;
  const bool chat = o.form == BuildOptions::Form::chat;
  IndexedWriter out(prefix, token_type_for(tokenizer.vocab_size()));
  std::optional<IndexedWriter> mask;
  if (chat) mask.emplace(with_suffix(prefix, ".mask"), TokenType::u8);
  const Encoder encode(tokenizer, chat_template, o);
  BuildReport report;
  int64_t reasoning = 0, reasoning_kept = 0;
  std::vector<Raw> batch;
  size_t batch_bytes = 0;

  auto take = [&](const Encoded& e) {
    using enum Encoded::DocStatus;
    if (e.status == bad && !o.skip_bad) throw Error(e.error);
    report.bad += e.status == bad, report.empty += e.status == empty;
    report.dropped += e.status == dropped, report.trimmed += e.status == trimmed;
    if (e.status != kept && e.status != trimmed) return;
    out.add(e.tokens);
    if (mask) mask->add(e.learned);
    for (int32_t l : e.learned) report.learned += l;
    reasoning += e.reasoning, reasoning_kept += e.reasoning_kept;
    report.bytes += e.bytes;
  };
  auto run = [&] {
    std::vector<Encoded> done(batch.size());
    parallel_dynamic(static_cast<int64_t>(batch.size()),
                     [&](int64_t i) { done[static_cast<size_t>(i)] = encode(batch[static_cast<size_t>(i)]); });
    for (const Encoded& e : done) take(e);
    batch.clear(), batch_bytes = 0;
    report.documents = out.documents(), report.tokens = out.tokens();
    on_progress(report);
  };
  for (const std::string& file : files) {
    const bool json =
        o.form == BuildOptions::Form::by_name ? file.ends_with(".jsonl") : o.form != BuildOptions::Form::text;
    read_documents(file, json, o, [&](Raw r) {
      batch_bytes += r.text.size();
      batch.push_back(std::move(r));
      if (batch.size() >= kBatchDocuments || batch_bytes >= kBatchBytes) run();
    });
  }
  run();
  if (report.documents == 0) fail("no documents in {}", fmt::join(files, ", "));
  if (reasoning > 0) report.kept_reasoning = static_cast<double>(reasoning_kept) / static_cast<double>(reasoning);
  if (mask)
    mask->finish();
  else
    for (const char* stale : {".mask.idx", ".mask.bin"}) std::filesystem::remove(with_suffix(prefix, stale));
  out.finish();
  Json j = report.json();
  j.set("vocab", static_cast<int64_t>(tokenizer.vocab_size()));
  write_file(with_suffix(prefix, ".json"), j.dump(2) + "\n");
  return report;
}

}  // namespace quern::data

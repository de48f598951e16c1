#include "quern/train/finetune/finetune_data.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/data/chat_example.h"
#include "quern/data/indexed.h"

namespace quern::train {
namespace {

struct Document {
  std::vector<int32_t> tokens, learned;
};

struct EncodedRow {
  std::vector<Document> documents;  // none: dropped
  bool trimmed = false;
  int64_t bytes = 0;
  std::string error;
};

EncodedRow encode_messages(const FinetuneRow& row, const FinetuneEncoder& e) {
  EncodedRow out;
  const data::ChatExample whole = data::encode_chat(row.messages, e.chat_template, e.tokenizer, row.where);
  const auto kept = data::ap_trim(whole, e.length + 1);
  if (!kept) return out;
  out.trimmed = kept->size() < whole.size();
  out.documents.push_back({kept->tokens, {kept->learned.begin(), kept->learned.end()}});
  for (const Json& m : row.messages.as_array()) out.bytes += static_cast<int64_t>(m.at("content").as_string().size());
  return out;
}

EncodedRow encode_text(const FinetuneRow& row, const FinetuneEncoder& e) {
  EncodedRow out;
  std::vector<int32_t> read = row.prompt.empty() ? std::vector<int32_t>()
                                                 : e.tokenizer.encode(row.prompt, {.parse_special = false}),
                       text = e.tokenizer.encode(row.text,
                                                 {.add_special_tokens = row.prompt.empty(), .parse_special = false});
  if (e.tokenizer.eos_id() >= 0) text.push_back(e.tokenizer.eos_id());
  out.bytes = static_cast<int64_t>(row.prompt.size() + row.text.size());
  Document d{read, std::vector<int32_t>(read.size(), 0)};
  d.tokens.insert(d.tokens.end(), text.begin(), text.end());
  d.learned.resize(d.tokens.size(), 1);
  const auto most = static_cast<size_t>(e.length) + 1;
  for (size_t at = 0; at + 1 < d.tokens.size() || at == 0; at += most - 1) {  // pieces share the token between them
    auto piece = [&](const std::vector<int32_t>& v) {
      return std::vector<int32_t>(v.begin() + static_cast<std::ptrdiff_t>(at),
                                  v.begin() + static_cast<std::ptrdiff_t>(std::min(v.size(), at + most)));
    };
    out.documents.push_back({piece(d.tokens), piece(d.learned)});
    if (at > 0) out.documents.back().learned[0] = 0;
  }
  return out;
}

}  // namespace

FinetuneSplit split_rows(std::vector<FinetuneRow> rows, double share, int64_t most, uint64_t seed) {
  if (rows.size() < 2) fail("{} usable rows: at least 2 are needed, of which one is held out", rows.size());
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Rng random(seed, 0x5b117);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const auto wanted = static_cast<int64_t>(std::lround(share * static_cast<double>(rows.size())));
  const auto n = static_cast<size_t>(
      std::clamp<int64_t>(wanted, 1, std::min<int64_t>(most, static_cast<int64_t>(rows.size()) - 1)));
  std::set<size_t> held(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n));
  std::set<std::string> keys;
  for (size_t i : held) keys.insert(rows[i].key());
  FinetuneSplit out;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (held.count(i))
      out.held_out.push_back(std::move(rows[i]));
    else if (keys.count(rows[i].key()))
      ++out.repeated;
    else
      out.learned.push_back(std::move(rows[i]));
  }
  if (out.learned.empty()) fail("all rows are the same: nothing is left to learn from");
  return out;
}

FinetuneCounts write_shards(const std::vector<FinetuneRow>& rows, const FinetuneEncoder& e,
                            const std::filesystem::path& prefix) {
  std::vector<EncodedRow> done(rows.size());
  parallel_dynamic(static_cast<int64_t>(rows.size()), [&](int64_t i) {
    const FinetuneRow& row = rows[static_cast<size_t>(i)];
    EncodedRow& to = done[static_cast<size_t>(i)];
    try {
      to = row.chat() ? encode_messages(row, e) : encode_text(row, e);
    } catch (const Error& error) {
      to.error = error.what();
    }
  });
  data::IndexedWriter tokens(prefix, data::token_type_for(e.tokenizer.vocab_size())),
      mask(data::with_suffix(prefix, ".mask"), data::TokenType::u8);
  FinetuneCounts n;
  for (const EncodedRow& row : done) {
    if (!row.error.empty()) throw Error(row.error);
    n.dropped += row.documents.empty(), n.trimmed += row.trimmed, n.cut += row.documents.size() > 1;
    n.rows += !row.documents.empty(), n.bytes += row.documents.empty() ? 0 : row.bytes;
    for (const Document& d : row.documents) {
      tokens.add(d.tokens), mask.add(d.learned);
      n.learned += std::accumulate(d.learned.begin(), d.learned.end(), int64_t{0});
      n.longest = std::max(n.longest, static_cast<int64_t>(d.tokens.size()));
    }
  }
  if (n.rows == 0) fail("none of {} rows fits into {} tokens: give a larger sequence length", rows.size(), e.length);
  n.tokens = tokens.tokens();
  mask.finish(), tokens.finish();
  Json j = Json::object();
  j.set("documents", n.rows), j.set("tokens", n.tokens), j.set("bytes", n.bytes), j.set("learned", n.learned);
  j.set("vocab", static_cast<int64_t>(e.tokenizer.vocab_size()));
  write_file(data::with_suffix(prefix, ".json"), j.dump(2) + "\n");
  return n;
}

}  // namespace quern::train

#include "quern/corpus/token_shards.h"

#include "quern/base/error.h"
#include "quern/data/indexed.h"

namespace quern::corpus {

Json TokenShardReport::json() const {
  Json j = Json::object(), bad = Json::array();
  j.set("documents", static_cast<int64_t>(documents)), j.set("tokens", static_cast<int64_t>(tokens));
  j.set("bytes", static_cast<int64_t>(scan.read.text_bytes)), j.set("empty", static_cast<int64_t>(empty));
  j.set("read", scan.read.json());
  for (const std::string& d : scan.damaged) bad.push(Json(d));
  j.set("damaged_files", std::move(bad));
  return j;
}

TokenShardReport write_token_shards(const Inputs& inputs, const ScanOptions& o, const Tokenizer& tokenizer,
                                    bool end_token, const std::filesystem::path& prefix,
                                    const ScanProgress& progress) {
  struct Encoded {
    std::vector<int32_t> ids;
    std::vector<size_t> ends;
  };
  struct Nothing {};
  if (end_token && tokenizer.eos_id() < 0) fail("the tokenizer names no end token: expected eos_token");
  TokenShardReport r;
  IndexedWriter writer(prefix, token_type_for(tokenizer.vocab_size()));
  r.scan = scan_documents<Nothing, Encoded>(
      inputs, o, [] { return Nothing(); },
      [&](Nothing&, const DocumentView& d, Encoded& out) {
        if (d.text.empty()) {
          out.ends.push_back(out.ids.size());
          return;
        }
        // Text that spells a special token is text.
        const std::vector<int32_t> ids = tokenizer.encode(d.text, {.parse_special = false});
        out.ids.insert(out.ids.end(), ids.begin(), ids.end());
        if (end_token) out.ids.push_back(tokenizer.eos_id());
        out.ends.push_back(out.ids.size());
      },
      [&](Encoded&& e) {
        size_t begin = 0;
        for (size_t end : e.ends) {
          if (end == begin) {
            ++r.empty;
            continue;
          }
          writer.add(std::span(e.ids).subspan(begin, end - begin));
          begin = end;
        }
      },
      progress);
  r.documents = static_cast<uint64_t>(writer.documents()), r.tokens = static_cast<uint64_t>(writer.tokens());
  writer.finish();
  return r;
}

}  // namespace quern::corpus

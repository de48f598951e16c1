#include "apps/quern/models/new_tokenizer.h"

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/data/curriculum.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/bpe_train.h"

namespace quern::cli {

void save_tokenizer_files(const std::filesystem::path& folder, const std::string& tokenizer_json) {
  std::filesystem::create_directories(folder);
  write_file(folder / "tokenizer.json", tokenizer_json);
  Json j = Json::object();
  j.set("tokenizer_class", "PreTrainedTokenizerFast");
  j.set("bos_token", kBegin);
  j.set("eos_token", kEnd);
  j.set("pad_token", kPad);
  j.set("model_max_length", int64_t{1} << 20);
  j.set("clean_up_tokenization_spaces", false);
  write_file(folder / "tokenizer_config.json", j.dump(2) + "\n");
  write_file(folder / "chat_template.jinja", text::plain_chat_template());
}

text::BpeTrainOptions tokenizer_options(int64_t vocab_size) {
  text::BpeTrainOptions o;
  o.vocab_size = vocab_size;
  o.special_tokens = {kPad, kEnd, kBegin, kStart};
  o.bos_token = kBegin;
  o.individual_digits = true;
  return o;
}

text::Tokenizer make_tokenizer(const std::filesystem::path& folder, int64_t vocab_size) {
  text::BpeTrainer trainer(tokenizer_options(vocab_size));
  for (uint64_t i = 0; i < 3000; ++i) trainer.add(data::curriculum_text(data::Split::train, i));
  save_tokenizer_files(folder, trainer.train());
  return text::Tokenizer::load(folder);
}

}  // namespace quern::cli

// A column with what a classifier (an encoder with a head) says of every document. Documents of one block of input are
// scored together: what stands beside a document in a batch can change the last digits of its score, and so it is the
// same whether one process reads all blocks or several share them.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "quern/corpus/run/scan.h"
#include "quern/encoders/text_encoder.h"

namespace quern::corpus {

struct ScoreSettings {
  std::string model;  // folder
  std::string column = "score";
  std::string label;           // the score of this label alone, as a number; empty: of all
  std::string format = "f32";  // of the weights
  template <class V>
  void visit(V& v) {
    v("model", model), v("column", column), v("label", label), v("format", format);
  }
};

struct ScoreReport {
  uint64_t documents = 0, truncated = 0, max_tokens = 0;  // truncated: cut to max_tokens
  uint64_t own_members = 0;                               // rows that had the column, and keep what it said
  ScanReport scan;
};

encoders::TextEncoder load_classifier(const ScoreSettings& settings);  // throws Error for one without a head

class DocumentScorer {
 public:
  DocumentScorer(encoders::TextEncoder classifier,
                 ScoreSettings settings);  // throws Error for a label that it has not
  const encoders::TextEncoder& classifier() const { return classifier_; }
  // put: rows with their column, as JSON lines, in order.
  ScoreReport score(const Inputs& inputs, const ScanOptions& scan, const std::function<void(std::string_view)>& put,
                    const ScanCallbacks& callbacks = {}) const;

 private:
  struct Document {
    std::string line, text;
    bool has_column = false;
  };
  void score_block(std::vector<Document>& block, ScoreReport& report, std::string& lines) const;
  std::string value(const Tensor& rows, int64_t i) const;

  ScoreSettings settings_;
  encoders::TextEncoder classifier_;
  int64_t label_ = -1;
};

// Which model it is, by the contents of its files.
std::string score_model_hash(const std::string& folder);

}  // namespace quern::corpus

// Training samples from token shards. A sample is one sequence of up to `length` input tokens; a batch is concatenated
// sequences in the form Model::hidden and Model::loss take: tokens, targets (−1 where there is no loss) and document
// lengths (Batch::documents), so that no mixer attends across a boundary.
//   stream  the shards' tokens cut every `length`: documents begin and end anywhere, and no target crosses their ends
//   pack    sequence packing of whole documents, best-fit-decreasing: an input for every token but a document's last;
//           never cut
// If PREFIX.mask.idx exists, targets whose loss mask is 0 become −1 (the user's turns, for example). Order: sample k
// is a function of (seed, k) only. Mixture chooses the set, and each set is shuffled anew every epoch. Cost: one copy
// of the tokens.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/config.h"
#include "quern/data/indexed.h"
#include "quern/data/mixture.h"
#include "quern/data/packing.h"

namespace quern::data {

struct TokenBatch {
  std::vector<int32_t> tokens, targets;
  std::vector<int64_t> lengths;  // of the documents, or their pieces
  int64_t rows = 0, loss_tokens = 0;
  void add(const TokenBatch& o);
};

class Samples {
 public:
  virtual ~Samples() = default;
  virtual int64_t count() const = 0;                             // of one epoch
  virtual void append(int64_t index, TokenBatch& to) const = 0;  // one row
  virtual std::string describe() const = 0;
};

class StreamSamples : public Samples {
 public:
  StreamSamples(const std::filesystem::path& prefix, int64_t length);
  int64_t count() const override;
  void append(int64_t index, TokenBatch& to) const override;
  std::string describe() const override;

 private:
  IndexedTokens tokens_;
  std::unique_ptr<IndexedTokens> mask_;
  int64_t length_;
};

class PackedSamples : public Samples {
 public:
  PackedSamples(const std::filesystem::path& prefix, int64_t length);
  int64_t count() const override { return packing_.rows(); }
  void append(int64_t index, TokenBatch& to) const override;
  std::string describe() const override;
  const RowPacking& packing() const { return packing_; }

 private:
  IndexedTokens tokens_;
  std::unique_ptr<IndexedTokens> mask_;
  RowPacking packing_;
};

struct DataSetConfig {
  std::string path, packing = "stream";
  double weight = 1;
  template <class V>
  void visit(V& v) {
    v("path", path, "token shards: PREFIX of PREFIX.bin and PREFIX.idx");
    v("packing", packing, "stream: cut the tokens every sequence_length; pack: whole documents per sequence",
      aka("rows"));
    v("weight", weight, "share of the samples, in any unit");
  }
};

class Loader {
 public:
  // base: where relative paths start. Throws Error naming the set and the field.
  Loader(const std::vector<DataSetConfig>& sets, int64_t length, uint64_t seed,
         const std::filesystem::path& base = {});
  // The next `rows` samples; of these only the part of `part` of `parts` is put together (data-parallel ranks), but
  // all of them count as consumed.
  TokenBatch next(int64_t rows, int64_t part = 0, int64_t parts = 1);
  int64_t consumed() const { return mixture_.count(); }
  void seek(int64_t consumed) { mixture_.seek(consumed); }
  double epochs(size_t set) const;  // passed over a set so far
  std::string describe() const;     // a line a set

 private:
  void append(size_t set, int64_t nth, TokenBatch& to) const;
  std::vector<std::unique_ptr<Samples>> sets_;
  Mixture mixture_;
  uint64_t seed_;
};

}  // namespace quern::data

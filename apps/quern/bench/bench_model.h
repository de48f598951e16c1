// Speed of a whole model: prefill and decode at several depths and batch sizes, with the bytes read per token and the
// ratio to this machine's limit, measured in the same run.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/models/model.h"

namespace quern::cli {

struct ModelBenchOptions {
  std::string dir, shape;  // one of them: a folder, or a published shape with random weights
  std::string scheme = "bf16";
  // Attention caches: bf16, q8 or f32; none is f32 with weights in f32, else bf16. Several: decoding with one after
  // the other in every repetition (bench model, bench batch).
  std::vector<std::string> kv = {};
  int64_t prompt = 2048, reps = 15, chunk = 512;
  std::vector<std::string> depths = {}, batches = {};  // of decoding; empty = 512 and 8192, and 1
  bool skip_prefill = false, json = false;
};
int bench_model(const ModelBenchOptions& options);
int bench_batch(ModelBenchOptions options);                          // total speed of 1, 4 and 16 sequences
int bench_adapters(const ModelBenchOptions& options, int64_t rank);  // sequences with an adapter each, beside none
int bench_rows(const ModelBenchOptions& options);  // steps of several rows of one sequence, beside one
// A draft model, a folder or a scheme, beside no guesses, as if so many came true.
int bench_draft(const ModelBenchOptions& options, const std::string& draft);
int bench_think(ModelBenchOptions options, const std::string& plan);  // a plan beside plain batches
int bench_prefix(const ModelBenchOptions& options);  // time to the first token, most of the prompt known

struct TrainBenchOptions {
  std::string shape, dtype = "bf16";  // FAMILY-SIZE
  std::string base;  // format of frozen weights beside which an adapter learns; empty: all weights learn
  int64_t rows = 8, length = 512, reps = 7, rank = 16;
  int64_t layers = 0;  // the first so many; 0: all
  bool activation_checkpointing = false, json = false;
};

struct TrainStepSetup {
  Json config;
  std::string base = {};  // as above
  int64_t rows = 8, length = 512, reps = 7, rank = 16;
  grad::Precision precision = grad::Precision::bf16;
  bool activation_checkpointing = false;
};

// Medians of steps on random tokens, with the machine's peak measured before and after each.
struct TrainStepTimes {
  double forward = 0, backward = 0, update = 0;  // seconds
  double flops = 0, peak_gflops = 0, mfu = 0;    // flops: of the large products, forward and backward
  int64_t parameters = 0;                        // that learn
  Json config;
};
TrainStepTimes time_training_steps(const TrainStepSetup& setup);
int bench_train(const TrainBenchOptions& options);  // a training step: MFU and where its time goes

std::unique_ptr<models::Model> bench_subject(const ModelBenchOptions& options);
std::unique_ptr<models::Model> bench_draft_model(const ModelBenchOptions& options, const std::string& draft);
DType bench_kv(const ModelBenchOptions& options);  // throws UsageError unless there is one
std::vector<int32_t> random_tokens(int64_t n, int64_t vocab, uint64_t seed);
// A sequence that has seen `depth` tokens it was never fed.
mixers::SequenceState state_at(const models::Model& model, int64_t depth, DType kv, uint64_t seed);

}  // namespace quern::cli

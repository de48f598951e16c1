// OVQ attention layer (one head: ovq.h):
//   q, k, v = x·Wᵀ;  k through the key shift, if enabled;  q, k = unit vectors per head;  s_h = β_h·√d
//   y = OVQ(q, k, v; s)·Woᵀ
// No positions: layers of sliding-window attention in the same model provide the order. State, constant in size and
// f32: sums of keys [H, d, N], of values [H, N, d], counts [H, N], the chunk that is not yet full, and two counters:
// rows in use, tokens seen. The dictionary's size may change after training. Cost per token: 4·H·d·D multiply-adds for
// the projections and H·d·(3N + C) for the memory.
#pragma once
#include "quern/base/config.h"
#include "quern/mixers/mixer.h"
#include "quern/mixers/ovq/ovq.h"
#include "quern/nn/linear.h"

namespace quern::mixers {

struct OvqConfig {
  int64_t width = 0, n_head = 0, head_dim = 0, rows = 1024, chunk = 128, horizon = 0;
  std::string growth = "plateau";
  bool key_shift = false, spread = true, count_bias = true, normalize = false, delta_values = false;
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("n_head", n_head, "number of heads, each with a dictionary");
    v("head_dim", head_dim, "size of a head");
    v("rows", rows, "maximum rows of a dictionary; may change after training");
    v("chunk", chunk, "tokens between two writes");
    v("growth", growth, "number of rows in use after t tokens: plateau, greedy or linear");
    v("horizon", horizon, "tokens after which linear growth has all rows");
    v("key_shift", key_shift, "keys that hold a learned share of the token before");
    v("spread", spread, "the tokens least similar to the rows become new ones; false: random tokens");
    v("count_bias", count_bias, "add the logarithm of a row's count to its logit");
    v("normalize", normalize, "normalize the dictionary's keys to unit length", aka("normalise"));
    v("delta_values", delta_values, "delta rule: values change by the error of their readout");
  }
  OvqOptions options() const;  // throws Error naming the field
};

class OvqMixer : public Mixer {
 public:
  explicit OvqMixer(OvqConfig config);
  StateSpec state_spec(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;
  // Sequences begun from now on have so many rows; those that go on keep theirs.
  void set_rows(int64_t rows);

 private:
  // Parts of the state.
  static constexpr const char *kKeys = "keys", *kValues = "values", *kCounts = "counts", *kChunkKeys = "chunk_keys",
                              *kChunkValues = "chunk_values", *kMarks = "marks";
  template <class T>
  grad::Var core(grad::Tape& tape, const grad::Var& q_THd, const grad::Var& k_THd, const grad::Var& v_THd,
                 const Batch& batch, int site);
  struct RunTensors {  // [T, H, d]; lse, rows: [H, T], undefined where nothing is kept
    Tensor q, k, v, out, lse, rows;
  };
  template <class T>
  void run(const RunTensors& in, const Batch& b, int site, SequenceState* into);
  double scale(int64_t head) const;

  OvqConfig c_;
  OvqOptions o_;
  nn::LinearGroup qkv_;
  nn::Linear out_;
  grad::Parameter beta_, mu_;
};

}  // namespace quern::mixers

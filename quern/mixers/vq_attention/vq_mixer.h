// Attention over vector-quantized keys as a layer (one head: vq.h), the baseline that OVQ is measured against: the
// codebook is a parameter [H, N, d], learned over the corpus and shared by all sequences.
//   q, k, v = x·Wᵀ;  k through a key shift on request;  q, k = unit vectors per head;  s_h = β_h·√d;  y = VQ(…)·Woᵀ
// State, constant in size and f32: sums of values [H, N, d], counts [H, N], the chunk that is not yet full with its
// codes, and the number of tokens seen. Cost per token: 4·H·d·D multiply-adds for the projections and H·d·(3N + C).
#pragma once
#include "quern/mixers/mixer.h"
#include "quern/mixers/vq_attention/vq.h"
#include "quern/nn/linear.h"

namespace quern::mixers {

struct VqAttentionConfig {
  int64_t width = 0, n_head = 0, head_dim = 0, codes = 512, chunk = 128;
  double commit = 1e-4;
  bool key_shift = false;
  template <class V>
  void visit(V& v) {
    v("width", width, "width of the residual stream");
    v("n_head", n_head, "number of heads, each with a codebook");
    v("head_dim", head_dim, "size of a head");
    v("codes", codes, "codes of a codebook");
    v("chunk", chunk, "tokens between two writes");
    v("commit", commit, "weight of the commitment loss (distance of keys to their codes)");
    v("key_shift", key_shift, "keys that hold a learned share of the token before");
  }
};

class VqAttentionMixer : public Mixer {
 public:
  explicit VqAttentionMixer(VqAttentionConfig config);
  StateSpec state_spec(DType kv) const override;
  void visit(const std::string& prefix, const nn::ParameterVisitor& v) override;
  void pack(const nn::WeightPrepacking& t) override;
  grad::Var forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) override;

 private:
  // Parts of the state.
  static constexpr const char *kValues = "values", *kCounts = "counts", *kChunkKeys = "chunk_keys",
                              *kChunkValues = "chunk_values", *kChunkCodes = "chunk_codes", *kSeen = "seen";
  template <class T>
  grad::Var core(grad::Tape& tape, const grad::Var& q_THd, const grad::Var& k_THd, const grad::Var& v_THd,
                 const Batch& batch, int site);
  struct RunTensors {  // [T, H, d]; lse, rows: [H, T], undefined where nothing is kept
    Tensor q, k, v, columns, out, lse, rows;
  };
  template <class T>
  void run(const RunTensors& in, const Batch& b, int site, SequenceState* into);
  Tensor columns() const;  // of the codebook, [H, d, stride(N)]
  double scale(int64_t head) const;

  VqAttentionConfig c_;
  VqOptions o_;
  nn::LinearGroup qkv_;
  nn::Linear out_;
  grad::Parameter codes_, beta_, mu_;
  Tensor columns_;  // once packed
};

}  // namespace quern::mixers

// A ZAYA model whose every weight is a closed formula, in f64: loss, logits, routing and the norm and sum of every
// gradient against values computed by an independent float64 program whose gradients were checked by finite
// differences. Tensor number t in this order, flat element j: base + amplitude·sin(1.3(t+1) + 0.37j + 0.011j²).
#include <gtest/gtest.h>

#include <cmath>

#include "quern/models/zaya/zaya_model.h"

namespace quern {
namespace {

struct Row {
  const char* name;
  double base, amplitude, grad_norm, grad_sum;
};
// clang-format off
constexpr Row kRows[] = {
    {"model.embed_tokens.weight", 0, 0.8, 2.05705252, 2.08175307},
    {"model.input_hidden_states_scale", 1, 0.2, 0.793209242, 0.191316011},
    {"model.input_hidden_states_bias", 0, 0.2, 2.08484248, 2.08175307},
    {"model.layers.0.input_layernorm.weight", 1, 0.2, 0.806775752, 0.0468321285},
    {"model.layers.0.self_attn.qkv_proj.q_proj.weight", 0, 0.5, 0.779601935, 0.606669886},
    {"model.layers.0.self_attn.qkv_proj.k_proj.weight", 0, 0.5, 0.774478354, -0.0519182683},
    {"model.layers.0.self_attn.qkv_proj.v_proj_current.weight", 0, 0.5, 1.83009997, -0.858645556},
    {"model.layers.0.self_attn.qkv_proj.v_proj_delayed.weight", 0, 0.5, 0.859950543, -0.135843733},
    {"model.layers.0.self_attn.qkv_proj.conv_qk_depthwise.weight", 0, 0.5, 1.07508318, -0.335880038},
    {"model.layers.0.self_attn.qkv_proj.conv_qk_depthwise.bias", 0, 0.3, 0.253114885, 0.0995952666},
    {"model.layers.0.self_attn.qkv_proj.conv_qk_grouped.weight", 0, 0.5, 1.0993357, 0.161651344},
    {"model.layers.0.self_attn.qkv_proj.conv_qk_grouped.bias", 0, 0.3, 0.55133198, -0.224446898},
    {"model.layers.0.self_attn.qk_norm.temp", 1.5, 0.5, 0.0235562538, -0.0331772752},
    {"model.layers.0.self_attn.o_proj.weight", 0, 0.5, 1.86193745, 1.95332127},
    {"model.layers.0.post_attention_residual_scale.hidden_states_scale", 1, 0.2, 0.509840561, 0.137182785},
    {"model.layers.0.post_attention_residual_scale.hidden_states_bias", 0, 0.2, 0.720822389, -0.201743115},
    {"model.layers.0.post_attention_residual_scale.residual_scale", 1, 0.2, 0.223847996, -0.10069662},
    {"model.layers.0.post_attention_residual_scale.residual_bias", 0, 0.2, 0.615859454, -0.343632766},
    {"model.layers.0.post_attention_layernorm.weight", 1, 0.2, 0.178116898, 0.310091318},
    {"model.layers.0.mlp.gate.down_proj.weight", 0, 0.6, 0.349889289, 0.223804719},
    {"model.layers.0.mlp.gate.down_proj.bias", 0, 0.3, 0.107673459, -0.142100905},
    {"model.layers.0.mlp.gate.router_mlp.norm.weight", 1, 0.2, 0.114579343, 0.125737386},
    {"model.layers.0.mlp.gate.router_mlp.fc1.weight", 0, 0.9, 0.136923817, -0.161497711},
    {"model.layers.0.mlp.gate.router_mlp.fc1.bias", 0, 0.3, 0.0782025413, 0.1385996},
    {"model.layers.0.mlp.gate.router_mlp.fc2.weight", 0, 0.9, 0.0819919875, 0.188666041},
    {"model.layers.0.mlp.gate.router_mlp.fc2.bias", 0, 0.3, 0.0740845285, 0.124504123},
    {"model.layers.0.mlp.gate.router_mlp.out_proj.weight", 0, 1.5, 0.0405919441, 3.46944695e-18},
    {"model.layers.0.mlp.experts.gate_up_proj", 0, 0.5, 0.529873317, 0.413986243},
    {"model.layers.0.mlp.experts.down_proj", 0, 0.5, 0.357829416, 0.368337288},
    {"model.layers.0.post_mlp_residual_scale.hidden_states_scale", 1, 0.2, 0.145789227, 0.211278851},
    {"model.layers.0.post_mlp_residual_scale.hidden_states_bias", 0, 0.2, 0.700816018, 0.0457850041},
    {"model.layers.0.post_mlp_residual_scale.residual_scale", 1, 0.2, 0.524472512, 0.142759183},
    {"model.layers.0.post_mlp_residual_scale.residual_bias", 0, 0.2, 0.613213593, -0.267848903},
    {"model.layers.1.input_layernorm.weight", 1, 0.2, 0.286658077, -0.0902501197},
    {"model.layers.1.self_attn.qkv_proj.q_proj.weight", 0, 0.5, 0.866079607, 0.437884015},
    {"model.layers.1.self_attn.qkv_proj.k_proj.weight", 0, 0.5, 0.610239185, 0.257607765},
    {"model.layers.1.self_attn.qkv_proj.v_proj_current.weight", 0, 0.5, 0.436634622, -0.288987756},
    {"model.layers.1.self_attn.qkv_proj.v_proj_delayed.weight", 0, 0.5, 0.495828196, -0.13299254},
    {"model.layers.1.self_attn.qkv_proj.conv_qk_depthwise.weight", 0, 0.5, 0.523361747, 0.437697506},
    {"model.layers.1.self_attn.qkv_proj.conv_qk_depthwise.bias", 0, 0.3, 0.277236568, -0.0610806134},
    {"model.layers.1.self_attn.qkv_proj.conv_qk_grouped.weight", 0, 0.5, 0.680884116, 0.362083633},
    {"model.layers.1.self_attn.qkv_proj.conv_qk_grouped.bias", 0, 0.3, 0.510064119, 0.40322539},
    {"model.layers.1.self_attn.qk_norm.temp", 1.5, 0.5, 0.0443015603, 0.0524424198},
    {"model.layers.1.self_attn.o_proj.weight", 0, 0.5, 0.705653429, -0.6105742},
    {"model.layers.1.post_attention_residual_scale.hidden_states_scale", 1, 0.2, 0.137941792, -0.0318598931},
    {"model.layers.1.post_attention_residual_scale.hidden_states_bias", 0, 0.2, 0.231056013, -0.243245564},
    {"model.layers.1.post_attention_residual_scale.residual_scale", 1, 0.2, 0.294312211, 0.229308206},
    {"model.layers.1.post_attention_residual_scale.residual_bias", 0, 0.2, 0.284187792, -0.386954366},
    {"model.layers.1.post_attention_layernorm.weight", 1, 0.2, 0.113221775, -0.157258132},
    {"model.layers.1.mlp.gate.down_proj.weight", 0, 0.6, 0.0067211392, -0.00366886576},
    {"model.layers.1.mlp.gate.down_proj.bias", 0, 0.3, 0.00238474771, 0.00468874879},
    {"model.layers.1.mlp.gate.router_states_scale", 1, 0.3, 0.00303756487, 0.00438353248},
    {"model.layers.1.mlp.gate.router_mlp.norm.weight", 1, 0.2, 0.00469471883, 0.000327210247},
    {"model.layers.1.mlp.gate.router_mlp.fc1.weight", 0, 0.9, 0.0103557168, 0.00822006599},
    {"model.layers.1.mlp.gate.router_mlp.fc1.bias", 0, 0.3, 0.00495738034, -0.00473821839},
    {"model.layers.1.mlp.gate.router_mlp.fc2.weight", 0, 0.9, 0.0191874822, 0.00378618326},
    {"model.layers.1.mlp.gate.router_mlp.fc2.bias", 0, 0.3, 0.0301222681, -0.0540505525},
    {"model.layers.1.mlp.gate.router_mlp.out_proj.weight", 0, 1.5, 0.14293369, -1.38777878e-17},
    {"model.layers.1.mlp.experts.gate_up_proj", 0, 0.5, 0.31480299, 0.120729204},
    {"model.layers.1.mlp.experts.down_proj", 0, 0.5, 0.150669725, 0.0347788996},
    {"model.layers.1.post_mlp_residual_scale.hidden_states_scale", 1, 0.2, 0.0835194307, -0.14105757},
    {"model.layers.1.post_mlp_residual_scale.hidden_states_bias", 0, 0.2, 0.204635528, -0.305801802},
    {"model.layers.1.post_mlp_residual_scale.residual_scale", 1, 0.2, 0.304309898, 0.125040787},
    {"model.layers.1.post_mlp_residual_scale.residual_bias", 0, 0.2, 0.241018463, -0.325764988},
    {"model.norm.weight", 1, 0.2, 1.22327093, 2.56274671},
};
// clang-format on

class ClosedForm : public testing::Test {
 protected:
  ClosedForm() : model(config()) {
    model.visit("", [&](const std::string& name, grad::Parameter& p) {
      if (name.ends_with("balancing_biases")) {
        bool first = name.find("layers.0.") != name.npos;
        p.value =
            first ? Tensor::of<double>({4}, {.30, .15, -.42, -1}) : Tensor::of<double>({4}, {-.04, .06, .01, -1});
        return;
      }
      for (size_t t = 0; t < std::size(kRows); ++t) {
        if (name != kRows[t].name) continue;
        p.value = Tensor::empty(p.shape, DType::f64);
        for (int64_t j = 0; j < p.value.size(); ++j) {
          double x = static_cast<double>(j);
          p.value.data<double>()[j] = kRows[t].base + kRows[t].amplitude * std::sin(1.3 * static_cast<double>(t + 1) +
                                                                                    0.37 * x + 0.011 * x * x);
        }
        ++filled;
      }
    });
  }
  static models::ZayaConfig config() {
    models::ZayaConfig c;
    c.vocab_size = 11;
    c.hidden_size = 8;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 4;
    c.num_key_value_heads = 2;
    c.head_dim = 4;
    c.num_experts = 3;
    c.moe_intermediate_size = 4;
    c.router_hidden_size = 4;
    c.rope["hybrid"] = {1e4, 0.5};
    c.layer_types = {"hybrid", "hybrid"};
    return c;
  }
  grad::Var forward(grad::Tape& tape) { return model.hidden(tape, ids, mixers::Batch::single(6)); }

  models::ZayaModel model;
  size_t filled = 0;
  std::vector<int32_t> ids = {3, 7, 1, 10, 0, 5}, targets = {7, 1, 10, 0, 5, 2};
};

TEST_F(ClosedForm, WeightsAreWhatTheFormulaSays) {
  EXPECT_EQ(filled, std::size(kRows));
  model.visit("", [](const std::string& name, grad::Parameter& p) {
    if (name == "model.embed_tokens.weight") {
      EXPECT_NEAR(p.value.item(0), .77084655, 1e-8);
      EXPECT_NEAR(p.value.item(2), .69694086, 1e-8);
    }
    if (name == "model.layers.0.self_attn.qkv_proj.conv_qk_grouped.weight") {
      EXPECT_NEAR(p.value.item(3), .09882658, 1e-8);
    }
  });
}

TEST_F(ClosedForm, LogitsAndLoss) {
  grad::Tape tape(grad::Tape::inference);
  grad::Var h = forward(tape);
  Tensor logits = model.logits(tape, h).value;
  const double first[] = {-1.83305979, 1.59454527,  1.73028409, 1.49692059,  -0.39523747, 0.77496348,
                          -1.91187827, -1.79016422, 1.1505059,  -0.49940042, 1.26696139};
  const double last[] = {1.89730535,  0.17673376,  -0.12728788, 0.51912408, -1.0646984, 0.94411829,
                         -0.16826397, -1.32290737, -0.28902256, 1.31668001, 2.71821974};
  for (int64_t v = 0; v < 11; ++v) {
    EXPECT_NEAR(logits.item(v), first[v], 1e-7);
    EXPECT_NEAR(logits.item(5 * 11 + v), last[v], 1e-7);
  }
  EXPECT_NEAR(model.loss(tape, h, targets).value.item(), 4.016277595052, 1e-10);
}

TEST_F(ClosedForm, EveryGradient) {
  grad::Tape tape;
  tape.backward(model.loss(tape, forward(tape), targets));
  size_t seen = 0;
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    for (const Row& r : kRows) {
      if (name != r.name) continue;
      ASSERT_TRUE(p.grad.defined()) << name;
      double norm = 0, sum = 0;
      for (double g : p.grad.span<double>()) norm += g * g, sum += g;
      EXPECT_NEAR(std::sqrt(norm), r.grad_norm, 1e-7 * std::max(1.0, r.grad_norm)) << name;
      EXPECT_NEAR(sum, r.grad_sum, 1e-7) << name;
      ++seen;
    }
  });
  EXPECT_EQ(seen, std::size(kRows));
}

TEST_F(ClosedForm, ExpertsChosen) {
  grad::Tape tape(grad::Tape::inference);
  forward(tape);
  EXPECT_EQ(model.moe(0).last_counts(), (std::vector<int64_t>{3, 0, 3, 0}));
  EXPECT_EQ(model.moe(1).last_counts(), (std::vector<int64_t>{5, 0, 1, 0}));
}

}  // namespace
}  // namespace quern

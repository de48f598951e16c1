#include "quern/ffn/dense/dense_ffn.h"

#include "quern/base/config.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern::ffn {

DenseFfn::DenseFfn(DenseConfig c, DenseNames names)
    : c_(c),
      names_(names),
      parts_(c.gated && names.gate ? 2 : 1),
      in_(std::vector<nn::Linear>(
          static_cast<size_t>(parts_),
          nn::Linear(c.gated && !names.gate ? 2 * c.hidden : c.hidden, c.width, nn::Bias{c.bias}))),
      down_(c.width, c.hidden, nn::Bias{c.bias}) {
  if (c.width < 1 || c.hidden < 1) fail("dense: width {} and hidden {} must be 1 or more", c.width, c.hidden);
  if (c.gated && !names.gate) in_.part(0).weight.fused = 2;
  if (c.squared && c.gated) fail("dense: squared activations are supported without a gate alone");
  if (c.gated) factors_ = nn::ColumnFactors({{c.hidden, c.gate_scale}, {c.hidden, 1}});
}

void DenseFfn::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  if (parts_ == 2) in_.part(0).visit(prefix + names_.gate, v);
  in_.part(parts_ == 2 ? 1 : 0).visit(prefix + names_.up, v);
  down_.visit(prefix + names_.down, v);
}

void DenseFfn::pack(const nn::WeightPrepacking& t) {
  in_.pack(t);
  down_.pack(t);
}

grad::Var DenseFfn::forward(grad::Tape& tape, const grad::Var& x_TD, DepthCarry&) {
  grad::Var in = factors_.apply(tape, in_.forward(tape, x_TD, {parts_})[0]);
  grad::Var h_TF = c_.gated ? nn::gated(tape, c_.act, in) : nn::activate(tape, c_.act, in);
  if (c_.squared) h_TF = nn::mul(tape, h_TF, h_TF);
  const grad::Var y_TD = nn::linear(tape, h_TF, down_);
  return c_.out_scale == 1 ? y_TD : nn::scale(tape, y_TD, c_.out_scale);
}

void register_dense(nn::Registry& r) {
  r.ffns.add("dense", [](const Json& j) -> std::unique_ptr<Ffn> {
    DenseConfig c;
    Json rest = j;
    if (const Json* a = j.find("act")) {
      c.act = kernels::parse_activation(a->as_string("ffn dense, act"));
      rest.erase("act");
    }
    from_json(rest, c, "ffn dense", UnknownKeys::refuse);
    return std::make_unique<DenseFfn>(c);
  });
}

}  // namespace quern::ffn

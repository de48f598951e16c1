#include "quern/ffn/dense/dense_ffn.h"

#include "quern/base/config.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern::ffn {

DenseFfn::DenseFfn(DenseConfig c)
    : c_(c),
      in_(std::vector<nn::Linear>(c.gated ? 2 : 1, nn::Linear(c.hidden, c.width, nn::Bias{c.bias}))),
      down_(c.width, c.hidden, nn::Bias{c.bias}) {
  if (c.width < 1 || c.hidden < 1) fail("dense: width {} and hidden {} must be 1 or more", c.width, c.hidden);
}

void DenseFfn::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  if (c_.gated) in_.part(0).visit(prefix + "gate_proj", v);
  in_.part(c_.gated ? 1 : 0).visit(prefix + "up_proj", v);
  down_.visit(prefix + "down_proj", v);
}

void DenseFfn::pack(const nn::WeightPrepacking& t) {
  in_.pack(t);
  down_.pack(t);
}

grad::Var DenseFfn::forward(grad::Tape& tape, const grad::Var& x_TD, DepthCarry&) {
  grad::Var in = in_.forward(tape, x_TD, {c_.gated ? 2 : 1})[0];
  return nn::linear(tape, c_.gated ? nn::gated(tape, c_.act, in) : nn::activate(tape, c_.act, in), down_);
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

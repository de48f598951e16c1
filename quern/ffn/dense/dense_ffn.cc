#include "quern/ffn/dense/dense_ffn.h"

#include "quern/base/config.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"

namespace quern {

DenseFfn::DenseFfn(DenseConfig c) : c_(c), gate_(c.hidden, c.width, c.bias), up_(c.hidden, c.width, c.bias), down_(c.width, c.hidden, c.bias) {}

void DenseFfn::visit(const std::string& prefix, const ParameterVisitor& v) {
  if (c_.gated) gate_.visit(prefix + "gate_proj", v);
  up_.visit(prefix + "up_proj", v);
  down_.visit(prefix + "down_proj", v);
}

void DenseFfn::pack(DType t) {
  if (c_.gated) gate_.pack(t);
  up_.pack(t);
  down_.pack(t);
}

Var DenseFfn::forward(Tape& tape, const Var& x_TD, DepthCarry&) {
  Var inner_TF = c_.gated ? gated(tape, c_.act, concat_columns(tape, {linear(tape, x_TD, gate_), linear(tape, x_TD, up_)})) : activate(tape, c_.act, linear(tape, x_TD, up_));
  return linear(tape, inner_TF, down_);
}

namespace ffn {
void register_dense(Registry& r) {
  r.ffns.add("dense", [](const Json& j) -> std::unique_ptr<Ffn> {
    DenseConfig c;
    Json rest = j;
    if (const Json* a = j.find("act")) {
      c.act = kernels::parse_activation(a->as_string("ffn dense, act"));
      rest.erase("act");
    }
    from_json(rest, c, "ffn dense", true);
    return std::make_unique<DenseFfn>(c);
  });
}
}  // namespace ffn

}  // namespace quern

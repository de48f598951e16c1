// Newton-Schulz compared with the machine's peak for its matrix type. newton_schulz counts the flops it does (half of
// each symmetric product); …_plain those of the algorithm without symmetry, only for comparison with other programs:
// its ratio is the same time made to look better. muon is a whole step over a stack of experts, momentum and update
// included.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/optim/muon/muon.h"

namespace quern::optim {
namespace {

void orthogonalize(host::Bench& b, DType t, int64_t rows, int64_t columns) {
  Tensor x = kernels::random_f32({rows, columns}, 1);
  const host::Bound bound = t == DType::bf16 ? host::Bound::bf16_flops : host::Bound::f32_flops;
  const std::string name = fmt::format("newton_schulz_{}", dtype_name(t)),
                    shape = fmt::format("{}x{}", rows, columns);
  auto body = [&] { newton_schulz(x.view<float, 2>(), {.dtype = t}); };
  b.row(name, shape, {bound, newton_schulz_flops(rows, columns, 5)}, body);
  b.row(name + "_plain", shape, {bound, newton_schulz_plain_flops(rows, columns, 5)}, body);
}

}  // namespace

void bench_optim_muon(host::Bench& b) {
  for (DType t : {DType::bf16, DType::f32})
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{2048, 2048}, {2048, 512}, {768, 512}, {512, 2048}})
      orthogonalize(b, t, rows, columns);
  Muon muon({});
  grad::Parameter experts({16, 768, 384}, grad::Init::normal());
  experts.value = kernels::random_f32(experts.shape, 1), experts.grad = kernels::random_f32(experts.shape, 2);
  OptimizerSlot slot;
  slot.parameter = &experts, slot.state = OptimizerState(muon.state("experts", experts));
  OptimizerSlot* slots[] = {&slot};
  b.row("muon_bf16", "16x768x384", {host::Bound::bf16_flops, 16 * newton_schulz_flops(768, 384, 5)},
        [&] { muon.step(slots, {.lr = 1e-4}); });
}

}  // namespace quern::optim

// The instruction set that kernels use, chosen once from cpuid; QUERN_ISA=ref|avx2|avx512 lowers it (asking for more
// than the machine has is an error). A kernel's dispatcher is `switch (active_isa())`, in its main .cc file.
#pragma once
#include <string_view>

namespace quern {

enum class Isa { ref, avx2, avx512 };

Isa detected_isa();            // what the machine can do
Isa active_isa();              // what is used: detected, unless QUERN_ISA or set_active_isa lowered it
void set_active_isa(Isa isa);  // tests and benches; throws Error above detected_isa()
bool has_avx512_bf16();        // vdpbf16ps present and allowed, and active_isa() == avx512
bool has_avx512_vnni();        // the same of vpdpbusd
void allow_avx512_bf16(bool);  // tests: false runs what an AVX-512 machine without vdpbf16ps and vpdpbusd would
Isa parse_isa(std::string_view name);
std::string_view isa_name(Isa isa);

}  // namespace quern

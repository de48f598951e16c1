// Which instructions multiply bf16 values, chosen by what is fast on this processor and not by what it has: vdpbf16ps
// runs at twice the rate of f32 FMAs on AMD Zen 4 and 5 and at half of it on Intel, whose matrix tiles (AMX) run at ten
// times that rate. The choice changes the last bits of a product, so it is made by tables and is the same in every
// process on one machine; only a processor that no table knows is measured, once, and the outcome is kept in a file.
// QUERN_BF16=fma|vdpbf16|amx|emulated asks for another one.
//   fma       bf16 values widened to f32, f32 FMAs
//   vdpbf16   AVX512-BF16
//   amx       tiles of AMX, for any number of rows: the sums of a row do not depend on the rows beside it
//   emulated  the same bits as amx on any processor, slowly (amx.h); tests
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace quern::kernels {

enum class Bf16Products { fma, vdpbf16, amx, emulated };

Bf16Products bf16_products();          // in use; fma where active_isa() is too low for the chosen one
void set_bf16_products(Bf16Products);  // tests and benches; throws Error for what this machine does not have
bool has_bf16_products(Bf16Products);
std::string_view bf16_products_name(Bf16Products);
Bf16Products parse_bf16_products(std::string_view name);
inline bool matrix_tiles() { return bf16_products() >= Bf16Products::amx; }

// Processor and system have AMX and this process may use it. Asked once; the permission holds for all threads.
bool has_amx();

// A row of a matrix product has the same bits alone and among any number of others, at some cost where one to four rows of
// quantized weights have a faster form of their own, and prompts another. With matrix tiles it is so anyway.
bool exact_rows();
void set_exact_rows(bool);

// How the choice came about, for people: "table: AMD processors run vdpbf16ps at twice the rate of FMAs".
std::string bf16_choice_reason();

// Billions of operations a second of one thread, each the best of a few short loops; 0 for what this machine does not
// have. About a millisecond each.
struct ProductRates {
  double fma = 0, vdpbf16 = 0, amx_bf16 = 0, vnni = 0, amx_int8 = 0;
};
ProductRates measure_product_rates();

class Bf16ProductsScope {  // tests and benches
 public:
  explicit Bf16ProductsScope(Bf16Products p) : before_(bf16_products()) { set_bf16_products(p); }
  ~Bf16ProductsScope() { set_bf16_products(before_); }
  Bf16ProductsScope(const Bf16ProductsScope&) = delete;
  Bf16ProductsScope& operator=(const Bf16ProductsScope&) = delete;

 private:
  Bf16Products before_;
};

}  // namespace quern::kernels

// Quantities: numbers with units. Units are products of powers of named ones ("km/h", "kg*m/s^2", "m²"), with SI and
// binary prefixes; °C and °F are scales with an offset where they stand alone.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::verify {

// Powers of: meter, kilogram, second, ampere, kelvin, mole, candela, byte, radian; then US dollar, euro, pound, yen.
using Dimension = std::array<int8_t, 13>;

struct Unit {
  long double factor = 1, offset = 0;  // value in base units = (number + offset) * factor
  Dimension dimension = {};
};

std::optional<Unit> read_unit(std::string_view text);  // all of the text

struct Quantity {
  long double number = 0;         // as it is written
  std::optional<Unit> unit = {};  // none is written
  bool percent = false;           // "50%": number is 0.5
};

// All of the text: "3.5 km", "$1,250.00", "1/3", "2.5e-3 kg", "3 × 10^8 m/s", "-40 °C". Nothing: not a quantity.
std::optional<Quantity> read_quantity(std::string_view text);

}  // namespace quern::verify

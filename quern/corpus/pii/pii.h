// Personal data in text: where e-mail addresses, public IP addresses, telephone numbers, payment card numbers, bank
// accounts (IBAN) and US social security numbers stand. One pass over the bytes; only '@' and digits are looked at
// closer.
//   email       addresses.h
//   ipv4, ipv6  of the public internet; private, documentation, multicast and other special ranges identify nobody
//   phone       phone_numbers.h
//   card        account_numbers.h: an issuer's prefix and length, and the check digit (Luhn)
//   iban        account_numbers.h: the country's length, and the check digits (ISO 7064, mod 97)
//   ssn         account_numbers.h: AAA-GG-SSSS in the ranges that are given out
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::corpus {

enum class PiiKind : uint8_t { email, ipv4, ipv6, phone, card, iban, ssn };
constexpr size_t kPiiKinds = 7;
constexpr std::array<const char*, kPiiKinds> kPiiNames = {"email", "ipv4", "ipv6", "phone", "card", "iban", "ssn"};

// A set of kinds.
class PiiKinds {
 public:
  constexpr PiiKinds() = default;
  static constexpr PiiKinds all() { return PiiKinds((1u << kPiiKinds) - 1); }
  // Names with commas between, or "all"; `form` is for the error.
  static PiiKinds parse(const std::string& names, const char* form);
  constexpr PiiKinds with(PiiKind k) const { return PiiKinds(bits_ | 1u << static_cast<unsigned>(k)); }
  constexpr bool has(PiiKind k) const { return bits_ >> static_cast<unsigned>(k) & 1; }

 private:
  constexpr explicit PiiKinds(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};

struct PiiSpan {
  size_t begin = 0, end = 0;
  PiiKind kind = PiiKind::email;
};

// The values of these kinds in order; they do not overlap.
void find_pii(std::string_view text, PiiKinds kinds, std::vector<PiiSpan>& found);

// The text with <EMAIL>, <IP>, <PHONE>, <CARD>, <IBAN> and <SSN> for what was found.
void mask_pii(std::string_view text, const std::vector<PiiSpan>& found, std::string& masked);

}  // namespace quern::corpus

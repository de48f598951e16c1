// Synthetic recall tasks:
//   mqar        n pairs of a key and a value, then the n pairs again in another order: which value followed each key?
//   copy        n different symbols, then the same again: what comes next?
//   order       n pairs of n/4 keys, each with four values; then key and number: which value followed it the second
//               time? The past does not say which time it is.
//   order-said  the same, but the past does say it: key, number, value
// Keys are the tokens 0 … 511, values 512 … 1023; a copied symbol is any of 0 … 511; in the last two tasks 508 … 511
// are numbers. They are a function of a seed and the example's number, so that examples are independent.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::lab {

enum class Association { mqar, copy, order, order_said };
Association association(std::string_view name);  // throws Error
std::string_view name_of(Association a);
constexpr int64_t kAssociationKeys = 512, kAssociationVocab = 1024, kAssociationTimes = 4;

struct Associations {  // of `rows` sequences, one behind the other, each of `length` tokens
  int64_t rows = 0, length = 0;
  std::vector<int32_t> ids, targets;  // target −1: no question there
};
int64_t association_length(Association task, int64_t n);
Associations make_associations(Association task, int64_t n, int64_t rows, uint64_t seed, uint64_t first);

}  // namespace quern::lab

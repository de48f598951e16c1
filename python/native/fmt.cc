// The part of fmt that is not in its headers, which Debian has as a shared library only.
#include <fmt/format-inl.h>

namespace fmt {
inline namespace v9 {
namespace detail {

template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref loc) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref loc) -> char;

}  // namespace detail
}  // namespace v9
}  // namespace fmt

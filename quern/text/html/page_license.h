// The license that a page states for itself in its markup: where a link with rel="license" leads, or an element with
// itemprop="license". Cost: one search for the word.
#pragma once
#include <string>
#include <string_view>

namespace quern::text {

// The first one's address, with its character references resolved; empty: none.
std::string page_license(std::string_view page);

}  // namespace quern::text

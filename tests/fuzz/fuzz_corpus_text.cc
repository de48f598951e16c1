// Any bytes, made UTF-8, through Zyda's counts, squeezing, the normalizers, a sketch, and the finders of personal data
// and licenses: fast and plain counts agree, tokens and values lie in order, and nothing else happens.
#include <cstdint>
#include <string>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/corpus/filters/zyda_features.h"
#include "quern/corpus/licenses/licenses.h"
#include "quern/corpus/pii/pii.h"
#include "quern/corpus/sketch/sketch.h"
#include "quern/text/unicode/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern::corpus;
  const std::string text = quern::text::utf8_lossy({reinterpret_cast<const char*>(data), size});
  ZydaFeatures plain, fast;
  zyda::count_ref(text, plain);
  if (quern::detected_isa() >= quern::Isa::avx2) {
    zyda::count_avx2(text, fast);
    QUERN_CHECK(plain == fast, "{} bytes", text.size());
  }
  std::string scratch;
  ZydaFeatures f;
  zyda_features(text, scratch, f);
  QUERN_CHECK(f.length <= f.chars);
  for (TextNormalizer n : {TextNormalizer::zyda1, TextNormalizer::slimpajama, TextNormalizer::raw}) {
    Tokens t;
    normalize(n, text, t, scratch);
    for (size_t i = 0; i < t.size(); ++i) QUERN_CHECK(!t[i].empty() && t.begin[i] < t.begin[i + 1]);
    QUERN_CHECK(quern::text::utf8_error(t.joined()) == std::string::npos);
  }
  static SketchMaker maker({.shingle = 3, .family = RowFamily::datasketch});
  maker.make(text);
  std::vector<PiiSpan> found;
  find_pii(text, PiiKinds::all(), found);
  for (size_t i = 0; i < found.size(); ++i)
    QUERN_CHECK(found[i].begin < found[i].end && found[i].end <= text.size() &&
                (i == 0 || found[i - 1].end <= found[i].begin));
  LicenseScratch licenses;
  find_licenses(text, licenses);
  return 0;
}

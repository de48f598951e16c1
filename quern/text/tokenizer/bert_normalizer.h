// The normalizer of BERT's vocabularies: control characters go, spaces become one kind, Han characters stand alone,
// accents and capitals are dropped where the file says so. Cost: linear.
#pragma once
#include <string>

#include "quern/base/json.h"

namespace quern::text {

struct BertNormalizer {
  bool clean = true, han = true, accents = true, lowercase = true;  // accents: strip them

  static BertNormalizer from_json(const Json& j);
  void apply(std::string& text) const;
};

}  // namespace quern::text

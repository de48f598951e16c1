// The filters, one function per filter; each has its own file, whose header documents its rules. `lists`: the folder
// of word lists that a user named, or empty.
#pragma once
#include <memory>
#include <string>

#include "quern/corpus/filters/filter.h"

namespace quern::corpus {

FilterMaker gopher_quality_filter(const std::string& lists);
FilterMaker gopher_repetition_filter(const std::string& lists);
FilterMaker c4_filter(const std::string& lists);
FilterMaker c4_any_end_filter(const std::string& lists);  // without the rule about how a line ends
FilterMaker fineweb_filter(const std::string& lists);
FilterMaker mojibake_filter(const std::string& lists);
FilterMaker pii_filter(const std::string& lists);
FilterMaker url_filter(const std::string& lists);

// A model that ships, as filters hold theirs.
template <class Model>
std::shared_ptr<const Model> not_owned(const Model& model) {
  return {&model, [](const Model*) {}};
}

// Those that ask a model take what stands behind their name and a colon.
FilterMaker fasttext_filter(const std::string& arguments);
FilterMaker classifier_filter(const std::string& arguments);
FilterMaker label_filter(const std::string& arguments);
FilterMaker language_filter(const std::string& arguments);
FilterMaker education_filter(const std::string& arguments);
FilterMaker reading_level_filter(const std::string& arguments);
FilterMaker grader_filter(const std::string& arguments);
FilterMaker pii_kinds_filter(const std::string& kinds);
FilterMaker no_pii_filter(const std::string& kinds);
FilterMaker license_filter(const std::string& ids);
FilterMaker no_license_filter(const std::string& ids);

}  // namespace quern::corpus

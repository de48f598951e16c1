// Columns of `quern corpus annotate`: a row's id and source, its language, features of its text, personal data and
// licenses in it, what filters would say of
// it, a classifier's score, and members of a side file with the same id. No row is dropped.
#pragma once
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quern/corpus/io/inputs.h"
#include "quern/corpus/stages/row_columns.h"

namespace quern::corpus {

struct AnnotateSettings {
  bool language = false, features = false, grades = false, pii = false, license = false;
  std::string classifier, grader, filter = "none", prefix;
  std::vector<std::string> labels;
  template <class V>
  void visit(V& v) {
    v("language", language, "add language and language_score: the most probable language and its probability");
    v("features", features, "add features: characters, words, lines, mean word length, shares of digits and symbols");
    v("grades", grades,
      "add education (0, nothing, to 4, it teaches) and reading_level (1, any adult, to 4, an expert)");
    v("pii", pii,
      "add pii: how many e-mail and IP addresses, telephone, card and account numbers the text holds, by kind");
    v("license", license, "add licenses: the SPDX identifiers of the licenses that the text names or quotes");
    v("grader", grader, "add the column of a grader that train-classifier wrote", {.value = "FILE"});
    v("filter", filter, "add failing: the rules of this filter that the document fails, several filters joined by +",
      {.value = "NAME"});
    v("classifier", classifier, "add quality: the score of a classifier that train-classifier wrote",
      {.value = "FILE"});
    v("labels", labels, "add the members of a side file's JSON lines to the rows with the same id; repeatable",
      {.value = "FILE"});
    v("prefix", prefix, "put this before the names of added columns", {.value = "NAME"});
  }
};

// Rows of side files by id, for all workers. An id that is a number is one when it is written alike; values stay as they
// are written, but for what Python's json writes and JSON does not have (mend_json_line). Of two values of one name for
// one id the first stays.
class SideFiles {
 public:
  explicit SideFiles(const std::vector<std::string>& files);
  using Members = std::vector<std::pair<std::string, std::string>>;  // name, JSON value
  const Members* find(std::string_view id_json) const;               // null: none has it
  std::vector<std::string> notes() const;                            // what is wrong with them, and was passed over

 private:
  void read(const std::string& file);
  void add(const std::string& id, Members&& members, const std::string& where);
  std::unordered_map<std::string, Members> rows_;
  uint64_t mended_ = 0, twice_ = 0;  // rows
  std::string first_mended_, first_twice_;
};

// Models and side files are loaded at once; what is wrong with them is an Error, or among the `notes`.
RowColumnsMaker annotate_columns(const AnnotateSettings& s, const Inputs& inputs,
                                 const std::vector<std::string>& rules, std::vector<std::string>& notes);

}  // namespace quern::corpus

#include "quern/corpus/grades/shipped_graders.h"

#include "quern/base/embedded_file.h"

QUERN_EMBED_FILE(quern_education, QUERN_EDUCATION)
QUERN_EMBED_FILE(quern_reading_level, QUERN_READING_LEVEL)

namespace quern::corpus {

const Grader& shipped_education() {
  static const Grader grader = Grader::parse(QUERN_EMBEDDED(quern_education), "the shipped grader of education");
  return grader;
}

const Grader& shipped_reading_level() {
  static const Grader grader =
      Grader::parse(QUERN_EMBEDDED(quern_reading_level), "the shipped grader of reading levels");
  return grader;
}

}  // namespace quern::corpus

// The sub-verbs of quern corpus.
#pragma once
#include "apps/quern/cli/verbs.h"

namespace quern::cli {

int corpus_annotate(Words args);
int corpus_bands(Words args);
int corpus_build(Words args);
int corpus_decontaminate(Words args);
int corpus_dedup(Words args);
int corpus_exact(Words args);
int corpus_extract(Words args);
int corpus_filter(Words args);
int corpus_mix(Words args);
int corpus_parquet(Words args);
int corpus_plan(Words args);
int corpus_repeats(Words args);
int corpus_run(Words args);
int corpus_score(Words args);
int corpus_sketch(Words args);
int corpus_stage(Words args);
int corpus_stats_verb(Words args);
int corpus_task(Words args);
int corpus_tokenize(Words args);
int corpus_train_classifier(Words args);

}  // namespace quern::cli

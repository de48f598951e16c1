// quern corpus train-classifier: trains a text quality filter from good and bad examples.
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/corpus/filters/linear_classifier.h"
#include "quern/corpus/run/scan.h"

namespace quern::cli {
namespace {

using namespace corpus;

std::vector<TextFeatures> features_of(const std::vector<std::string>& paths, const std::string& text_field) {
  const Inputs in = find_inputs(paths, "auto", "examples");
  ScanOptions o;
  o.fields[0].text = text_field;
  std::vector<TextFeatures> all;
  const ScanReport r = scan_documents<FeatureMaker, std::vector<TextFeatures>>(
      in, o, [] { return FeatureMaker(); },
      [](FeatureMaker& maker, const DocumentView& d, std::vector<TextFeatures>& out) {
        out.push_back(maker.make(d.text));
      },
      [&](std::vector<TextFeatures>&& out) {
        for (TextFeatures& f : out) all.push_back(std::move(f));
      });
  if (warn_about(r.read, r.damaged, in) != 0) fail("an example file has no text in the field '{}'", text_field);
  return all;
}

}  // namespace

int corpus_train_classifier(Words args) {
  std::vector<std::string> good, bad;
  SourceSettings source;
  std::string out;
  int64_t passes = 5, seed = 1;
  bool json = false;
  Args a("corpus train-classifier", "train a text quality classifier");
  a.flag("--good PATH", good, "file or folder of good texts; repeatable")
      .flag("--bad PATH", bad, "file or folder of bad texts; repeatable")
      .settings(source, {{"text_field"}})
      .flag("--out FILE", out, "output file: the classifier for --filter classifier:FILE:MIN")
      .flag("--passes N", passes, "number of passes over the texts")
      .flag("--seed N", seed, "random seed of the order of the texts")
      .json(json, "the results as one JSON object")
      .note("Every tenth text of each class is held out of training to measure accuracy and AUC.");
  if (!a.parse(args)) return 0;
  if (good.empty() || bad.empty())
    throw UsageError("quern corpus train-classifier: --good or --bad is missing: give at least one of each");
  if (out.empty()) throw UsageError("quern corpus train-classifier: --out is missing: expected a file");
  ClassifierReport r;
  const LinearClassifier c =
      LinearClassifier::train(features_of(good, source.text_field), features_of(bad, source.text_field),
                              {.passes = static_cast<int>(passes), .seed = static_cast<uint64_t>(seed)}, r);
  c.save(out);
  if (json) {
    Json j = Json::object();
    j.set("good", static_cast<int64_t>(r.good)), j.set("bad", static_cast<int64_t>(r.bad));
    j.set("held_out", static_cast<int64_t>(r.held_out_good + r.held_out_bad));
    j.set("accuracy", r.accuracy), j.set("auc", r.auc);
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{}: trained on {} good and {} bad texts; {} held-out texts: accuracy {:.1f} %, AUC {:.3f}\n", out,
               r.good, r.bad, r.held_out_good + r.held_out_bad, 100 * r.accuracy, r.auc);
  }
  return 0;
}

}  // namespace quern::cli

// quern corpus train-classifier: trains a text quality filter from good and bad examples, a classifier of character n-grams
// from texts that name their label, as that of languages is made, or a grader from texts with a number.
#include <algorithm>
#include <cstdio>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "quern/base/mmap.h"
#include "quern/corpus/filters/linear_classifier.h"
#include "quern/corpus/grades/grader_training.h"
#include "quern/corpus/language/label_report.h"
#include "quern/corpus/language/languages.h"
#include "quern/corpus/language/ngram_training.h"
#include "quern/corpus/run/scan.h"

namespace quern::cli {
namespace {

using namespace corpus;

struct TrainCommand {
  std::vector<std::string> inputs, good, bad, test;
  SourceSettings source;
  std::string out, label_field, grade_field, labels;
  std::optional<int64_t> passes;
  int64_t seed = 1, min_texts = 100;
  bool json = false;

  void check() const;
  int train_quality() const;
  int train_labels() const;
  int train_grades() const;
};

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

struct LabeledText {
  std::string text, label;
  double grade = 0;
};

// f(text, label) for every text, in order.
void read_labeled(const std::vector<std::string>& paths, const TrainCommand& c,
                  const std::function<void(const LabeledText&)>& f) {
  const Inputs in = find_inputs(paths, "auto", "examples");
  ScanOptions o;
  const std::string& field = c.grade_field.empty() ? c.label_field : c.grade_field;
  o.fields[0].text = c.source.text_field, o.fields[0].score = c.grade_field;
  o.fields[0].label = c.label_field, o.fields[0].label_any = true;
  struct Nothing {};
  const ScanReport r = scan_documents<Nothing, std::vector<LabeledText>>(
      in, o, [] { return Nothing(); },
      [](Nothing&, const DocumentView& d, std::vector<LabeledText>& out) {
        out.push_back({std::string(d.text), std::string(d.label), d.score});
      },
      [&](std::vector<LabeledText>&& out) {
        for (const LabeledText& t : out) f(t);
      });
  if (warn_about(r.read, r.damaged, in) != 0)
    fail("an example file has no row with a text in '{}' and a label or grade in '{}'", c.source.text_field, field);
}

void TrainCommand::check() const {
  const auto wrong = [](const char* what) {
    throw UsageError(fmt::format("quern corpus train-classifier: {}", what));
  };
  if (out.empty()) wrong("--out is missing: expected a file");
  if (!grade_field.empty()) {
    if (!label_field.empty()) wrong("--grade-field cannot be used with --label-field: name one of them");
    if (!good.empty() || !bad.empty())
      wrong("--grade-field cannot be used with --good and --bad: give texts as INPUT");
    if (inputs.empty()) wrong("INPUT is missing: expected files with texts and grades");
    if (!labels.empty()) wrong("--labels needs --label-field");
    if (passes) wrong("--passes cannot be used with --grade-field: a grader is solved in one step");
    return;
  }
  if (label_field.empty()) {
    if (!inputs.empty())
      wrong(
          "--label-field or --grade-field is missing: name the field with the label or the grade of a text, or "
          "give --good and --bad");
    if (good.empty() || bad.empty()) wrong("--good or --bad is missing: give at least one of each");
    if (!test.empty() || !labels.empty())
      wrong("--test needs --label-field or --grade-field, and --labels the former");
    return;
  }
  if (!good.empty() || !bad.empty()) wrong("--label-field cannot be used with --good and --bad: give texts as INPUT");
  if (inputs.empty()) wrong("INPUT is missing: expected files with texts and labels");
  if (min_texts < 1) wrong("--min-texts: expected 1 or more");
}

int TrainCommand::train_quality() const {
  ClassifierReport r;
  const LinearClassifier c = LinearClassifier::train(
      features_of(good, source.text_field), features_of(bad, source.text_field),
      {.passes = static_cast<int>(passes.value_or(5)), .seed = static_cast<uint64_t>(seed)}, r);
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

std::vector<std::string> split_at_commas(const std::string& words) {
  std::vector<std::string> all;
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(',', at), words.size());
    all.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

int TrainCommand::train_labels() const {
  NgramTraining t;
  t.passes = static_cast<int>(passes.value_or(t.passes)), t.seed = static_cast<uint64_t>(seed);
  if (t.passes < 1 || t.passes > 1000) fail("{} training passes: expected 1 to 1000", t.passes);
  const std::vector<std::string> wanted = split_at_commas(labels);
  NgramTrainer trainer(t);
  uint64_t texts = 0;
  read_labeled(inputs, *this, [&](const LabeledText& x) {
    if (!wanted.empty() && std::ranges::find(wanted, x.label) == wanted.end()) return;
    trainer.add(x.text, x.label), ++texts;
  });
  const NgramClassifier c = [&] {
    Progress progress;
    return trainer.train(static_cast<size_t>(min_texts),
                         [&](uint64_t done, uint64_t all) { progress.share("train", done, all); });
  }();
  write_file(out, c.bytes());
  if (!trainer.left_out().empty())
    fmt::print(stderr, "left out labels with fewer than {} texts: {}\n", min_texts,
               fmt::join(trainer.left_out(), " "));
  LabelReport report;
  NgramClassifier::Scratch scratch;
  uint64_t others = 0;
  if (!test.empty())
    read_labeled(test, *this, [&](const LabeledText& x) {
      if (std::ranges::find(c.labels(), x.label) == c.labels().end()) return void(++others);
      const int l = c.classify(x.text, scratch).label;
      report.add(x.label, l < 0 ? kUnknownLanguage : c.labels()[static_cast<size_t>(l)]);
    });
  if (json) {
    Json j = report.json();
    j.set("trained_on", static_cast<int64_t>(texts)), j.set("of_other_labels", static_cast<int64_t>(others));
    fmt::print("{}\n", j.dump());
    return 0;
  }
  fmt::print("{}: trained on {} texts with {} labels\n", out, texts, c.labels().size());
  if (test.empty()) return 0;
  fmt::print("{} held-out texts: macro-F1 {:.2f} %, accuracy {:.2f} %; {} texts of other labels left out\n",
             report.texts(), 100 * report.macro_f1(), 100 * report.accuracy(), others);
  for (const auto& [name, n] : report.labels())
    if (n.texts > 0) fmt::print("  {:<10} {:>9} texts  F1 {:.2f} %\n", name, n.texts, 100 * n.f1());
  return 0;
}

int TrainCommand::train_grades() const {
  GraderTrainer trainer;
  read_labeled(inputs, *this, [&](const LabeledText& x) { trainer.add(x.text, x.grade); });
  const Grader grader = trainer.train(grade_field);
  write_file(out, grader.json());
  GradeAgreement agreement;
  Grader::Scratch scratch;
  if (!test.empty())
    read_labeled(test, *this, [&](const LabeledText& x) { agreement.add(x.grade, grader.grade(x.text, scratch)); });
  const GradeReport r = agreement.report();
  if (json) {
    Json j = Json::object();
    j.set("passages", static_cast<int64_t>(trainer.texts())), j.set("held_out", static_cast<int64_t>(r.texts));
    j.set("correlation", r.correlation), j.set("mean_error", r.mean_error);
    fmt::print("{}\n", j.dump());
    return 0;
  }
  fmt::print("{}: trained on {} passages\n", out, trainer.texts());
  if (!test.empty())
    fmt::print("{} held-out texts: correlation {:.3f}, mean error {:.3f}\n", r.texts, r.correlation, r.mean_error);
  return 0;
}

}  // namespace

int corpus_train_classifier(Words args) {
  TrainCommand c;
  Args a("corpus train-classifier", "train a text classifier: good against bad, a class for each label, or a grade");
  a.rest("INPUT", c.inputs)
      .flag("--good PATH", c.good, "file or folder of good texts; repeatable")
      .flag("--bad PATH", c.bad, "file or folder of bad texts; repeatable")
      .flag("--label-field NAME", c.label_field,
            "field with the label of a text, such as its language: train a classifier of character n-grams on INPUT")
      .flag("--grade-field NAME", c.grade_field,
            "field with the grade of a text, a number such as 0 to 5: train a grader (English) on INPUT")
      .flag("--labels LIST", c.labels, "the labels to learn, separated by commas; texts with others are left out")
      .flag("--min-texts N", c.min_texts, "texts that a label needs to be learned")
      .flag("--test PATH", c.test, "held-out texts: print F1 of every label, or the agreement of grades; repeatable")
      .settings(c.source, {{"text_field"}})
      .flag("--out FILE", c.out,
            "output file: for --filter classifier:FILE:MIN, label:FILE:LABEL:MIN or grader:FILE:MIN")
      .flag("--passes N", c.passes, "number of passes over the texts [5, 10 with --label-field]")
      .flag("--seed N", c.seed, "random seed of the order of the texts")
      .json(c.json, "the results as one JSON object")
      .note(
          "With --good and --bad, every tenth text of each class is held out of training to measure accuracy and "
          "AUC.\n"
          "With --label-field and --grade-field, hold out whole documents yourself and name them with --test.");
  if (!a.parse(args)) return 0;
  c.check();
  if (!c.grade_field.empty()) return c.train_grades();
  return c.label_field.empty() ? c.train_quality() : c.train_labels();
}

}  // namespace quern::cli

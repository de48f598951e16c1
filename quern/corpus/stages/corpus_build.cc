#include "quern/corpus/stages/corpus_build.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/hashing.h"
#include "quern/corpus/dedup/html_report.h"

namespace quern::corpus {
namespace fs = std::filesystem;

Json dedup_manifest(const Json& tool, const Inputs& inputs, const DedupConfig& c, const DedupReport& r) {
  Json j = Json::object();
  j.set("tool", tool);
  const Json config = c.json();
  j.set("config", config);
  j.set("config_hash", fmt::format("{:016x}", content_hash(config.dump()).low));
  Json files = inputs_json(inputs, r.read);
  for (size_t i = 0; i < inputs.files.size(); ++i)
    files.items()[i].set(
        "xxh3", fmt::format("{:016x}", r.input_hashes.at(i) ? r.input_hashes[i] : file_hash(inputs.files[i].path)));
  j.set("inputs", std::move(files));
  const Json report = r.json();
  for (const auto& [k, v] : report.as_object()) j.set(k, v);
  return j;
}

std::vector<std::string> later_manifests(const CorpusRecipe& recipe) {
  std::vector<std::string> later;
  if (recipe.mix) later.emplace_back("mixed/manifest.json");
  if (recipe.tokenize) later.emplace_back("tokens.json");
  return later;
}

void refuse_input_folder(const std::vector<std::string>& words, const Inputs& in, const std::string& out,
                         const std::string& setting) {
  std::error_code none;  // a folder that does not exist is nobody's
  const auto is_out = [&](const fs::path& folder) {
    return fs::equivalent(folder.empty() ? "." : folder, out, none);
  };
  if (!fs::exists(out)) return;
  std::string found;
  fs::path last;
  for (const InputFile& f : in.files) {  // sorted
    const bool same = f.path.parent_path() == last && !last.empty();
    if (!same && is_out(last = f.path.parent_path())) found = f.path.string();
  }
  for (const std::string& word : words)
    for (const std::string& path : {word, word.substr(word.find('=') + 1)})
      if (is_out(path)) found = path;
  if (!found.empty()) fail("{} {}: the input {} lies there; name another folder", setting, out, found);
}

DedupOutcome run_dedup(const DedupTask& task, comm::Communicator& ranks) {
  Json m;
  if (task.overwrite && ranks.rank() == 0) replace_finished(task.out / "manifest.json", task.inputs);
  Ranks(&ranks).barrier();
  DedupReport r = deduplicate(
      task.inputs, task.config, task.out, task.progress,
      [&](const DedupReport& report) {
        m = dedup_manifest(task.tool, task.inputs, task.config, report);
        if (task.finish) task.finish(report);
        write_file(task.out / "report.html", corpus_html_report(m, report.samples));
        m = write_manifest(task.out, m, task.later);
      },
      &ranks);
  if (ranks.rank() != 0) return {};
  return {.ran = true, .report = std::move(r), .manifest = std::move(m)};
}

CorpusPlan plan_corpus(CorpusRecipe recipe, BuildTarget to) {
  CorpusPlan p{.recipe = std::move(recipe), .to = std::move(to), .dedup = {}, .inputs = {}, .later = {}};
  p.dedup = p.recipe.config();
  p.dedup.against = p.to.against, p.dedup.save_index = p.to.save_index;
  p.inputs = p.recipe.inputs(p.to.out);
  for (const SourceSettings& s : p.recipe.source) refuse_input_folder(s.paths, p.inputs, p.to.out, p.to.setting);
  p.later = plan_build(p.recipe, p.dedup, p.inputs);
  return p;
}

DedupOutcome dedup_corpus(CorpusPlan& plan, comm::Communicator& ranks, const Json& tool,
                          const std::function<void(const DedupProgress&)>& progress) {
  const fs::path out = plan.to.out;
  // The first rank's word on it: it may be done with all of this before another one looks.
  std::optional<BuildState> saved;
  if (ranks.rank() == 0 && plan.later) saved = saved_build(out, plan.later->identity);
  if (!Ranks(&ranks).from_first(saved ? "deduplicated" : "").empty()) {
    if (ranks.rank() != 0) return {};
    plan.later = saved;
    return {.manifest = Json::read(out / "manifest.json")};
  }
  const auto finish = [&](const DedupReport& report) {
    write_file(out / "recipe.json", write_value(plan.recipe).dump(2) + "\n");
    if (!plan.later) return;
    const size_t sources = plan.inputs.sources.size();
    for (size_t s = 0; s < sources; ++s)  // behind those of an index
      plan.later->kept.push_back(report.sources[report.sources.size() - sources + s].kept);
    save_build(out, *plan.later);
  };
  return run_dedup({.inputs = plan.inputs,
                    .config = plan.dedup,
                    .out = out,
                    .tool = tool,
                    .progress = progress,
                    .finish = finish,
                    .later = later_manifests(plan.recipe),
                    .overwrite = plan.to.overwrite},
                   ranks);
}

}  // namespace quern::corpus

// Exports a committed checkpoint as a Hugging Face model folder: the weights of any step, without running the recipe
// again.
#pragma once
#include <filesystem>
#include <string>

#include "quern/models/model.h"
#include "quern/nn/registry.h"
#include "quern/train/recipe/recipe.h"

namespace quern::train {

struct ExportOptions {
  std::filesystem::path config = {};     // a config.json; empty: what RUN/recipe.json says
  std::filesystem::path tokenizer = {};  // a folder; empty: that of RUN/recipe.json, or else of its start model
  DType dtype = DType::bf16;
};

struct ExportReport {
  std::filesystem::path from;
  int64_t step = 0, parameters = 0;
  bool tokenizer = false;  // one was copied
};

// `from`: a run, or a folder step_N of one. Throws Error naming what is missing.
ExportReport export_checkpoint(const nn::Registry& registry, const std::filesystem::path& from,
                               const std::filesystem::path& to, const ExportOptions& options);

// The folder whose tokenizer the trained model gets: the recipe's, or else the start model's if it has one, or else
// empty. Throws Error naming the key when the recipe's folder has no tokenizer.json.
std::filesystem::path tokenizer_source(const Recipe& recipe);

// The files of a tokenizer that are there; a generation_config.json that says where answers end, if it brings none.
void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace quern::train

// GET /v1/models and /v1/models/ID, with the fields that clients of OpenAI's and Anthropic's APIs, of vLLM and of LM
// Studio read.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/serve/models/model_aliases.h"
#include "quern/serve/models/model_manager.h"

namespace quern::serve {

struct ModelNames {
  const ModelManager& models;
  const ModelAliases& aliases;
  int64_t started;  // Unix time of the server's start: of models that are not loaded
  std::function<bool(const std::string& name, const std::string& id)> shown = {};  // to who asks; empty: all

  struct Listed {
    std::string name, id;  // id: the model it stands for
  };
  std::vector<Listed> listed() const;  // models, then aliases; patterns are left out: they are not names
};

Json models_json(const ModelNames& names);
// `name`: as it was asked for; `id`: the model it stands for.
Json model_json(const ModelNames& names, const std::string& name, const std::string& id);

}  // namespace quern::serve

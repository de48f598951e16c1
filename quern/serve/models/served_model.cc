#include "quern/serve/models/served_model.h"

#include <utility>

namespace quern::serve {

std::shared_ptr<ServedModel> with_adapters(const std::shared_ptr<ServedModel>& m, nn::ChosenAdapters adapters) {
  auto made = std::make_shared<ServedModel>(*m);
  made->base = m->base ? m->base : m;
  made->adapters = std::move(adapters);
  return made;
}

}  // namespace quern::serve

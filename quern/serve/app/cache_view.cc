// GET /v1/cache. Texts are for keys of administrators, or for everybody where --slots-text allows it.
#include "quern/serve/api/cache_api.h"
#include "quern/serve/app/app.h"

namespace quern::serve {

void App::cache(Exchange& e) {
  const SlotText text{o_.slots_text || e.caller.admin};
  const auto shown = [&](const std::string& id) { return may_see(e.caller, id); };
  e.answer(200, "application/json", cache_json(*models_, e.request(), text, shown).dump());
}

}  // namespace quern::serve

// The tables that are a part of the library.
#include "quern/base/embedded_file.h"
#include "quern/memory/kinds/telling_kinds.h"

QUERN_EMBED_FILE(quern_fact_kinds, QUERN_FACT_KINDS)
QUERN_EMBED_FILE(quern_event_kinds, QUERN_EVENT_KINDS)

namespace quern::memory {

const TellingKinds& TellingKinds::of_facts() {
  static const TellingKinds kinds = parse(QUERN_EMBEDDED(quern_fact_kinds), "the shipped table of kinds of facts");
  return kinds;
}

const TellingKinds& TellingKinds::of_events() {
  static const TellingKinds kinds = parse(QUERN_EMBEDDED(quern_event_kinds), "the shipped table of kinds of events");
  return kinds;
}

}  // namespace quern::memory

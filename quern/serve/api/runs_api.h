// Training runs as they are written, for the web UI and other clients. A run is a folder with metrics.jsonl; its id is
// the folder's name.
//   GET /v1/runs            every run: its last step, loss and reward, how long ago it was written
//   GET /v1/runs/ID?after=  metric lines after a place of an earlier answer (`next`), and the last samples
#pragma once
#include <filesystem>

#include "quern/base/json.h"
#include "quern/serve/http/http_server.h"

namespace quern::serve {

// The answer to either request. folder: of the runs, or a run itself; empty: an ApiError says that this server has none.
Json runs_json(const std::filesystem::path& folder, const HttpRequest& r);

}  // namespace quern::serve

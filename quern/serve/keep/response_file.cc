// One table: id, time of last use, and the rest as JSON.
#include "quern/serve/keep/response_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "quern/base/error.h"

namespace quern::serve {

namespace {
// There before SQLite opens it, so that nobody else may ever read it; its journal takes the same rights.
const std::filesystem::path& made_private(const std::filesystem::path& file) {
  const int f = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (f < 0) fail("cannot write {}: {}", file.string(), std::strerror(errno));
  ::close(f);
  return file;
}
}  // namespace

ResponseFile::ResponseFile(const std::filesystem::path& file, int64_t maximum)
    : db_(made_private(file), memory::SqliteOpen::create), maximum_(maximum) {
  db_.execute("PRAGMA secure_delete = ON");
  db_.execute("PRAGMA journal_mode = TRUNCATE");
  db_.execute(
      "CREATE TABLE IF NOT EXISTS responses (used INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, body TEXT)");
}

void ResponseFile::put(const StoredResponse& r) {
  Json j = Json::object();
  j.set("model", r.model), j.set("response", r.response), j.set("input", r.input), j.set("messages", r.messages);
  if (!r.owner.empty()) j.set("owner", r.owner);
  const std::string body = j.dump();
  std::lock_guard lock(mutex_);
  memory::SqliteWrite write(db_);
  db_.prepare("INSERT OR REPLACE INTO responses (id, body) VALUES (?, ?)").bind(r.id).bind(body).run();
  // Rows number themselves by use; the first of them were not used for longest.
  db_.prepare("DELETE FROM responses WHERE used <= (SELECT used FROM responses ORDER BY used DESC LIMIT 1 OFFSET ?)")
      .bind(maximum_)
      .run();
  write.commit();
}

std::optional<StoredResponse> ResponseFile::find(const std::string& id) {
  auto row = db_.prepare("SELECT body FROM responses WHERE id = ?");
  row.bind(id);
  if (!row.step()) return std::nullopt;
  const Json j = Json::parse(std::string(row.text(0)));
  const Json* owner = j.find("owner");
  return StoredResponse{.id = id,
                        .model = j.at("model").as_string(),
                        .response = j.at("response"),
                        .input = j.at("input"),
                        .messages = j.at("messages"),
                        .owner = owner ? owner->as_string() : ""};
}

std::optional<StoredResponse> ResponseFile::get(const std::string& id, const Caller& who) {
  std::lock_guard lock(mutex_);
  auto r = find(id);
  if (!r || !who.reaches(r->owner)) return std::nullopt;
  db_.prepare("UPDATE responses SET used = (SELECT max(used) + 1 FROM responses) WHERE id = ?").bind(id).run();
  return r;
}

bool ResponseFile::erase(const std::string& id, const Caller& who) {
  std::lock_guard lock(mutex_);
  if (const auto r = find(id); !r || !who.reaches(r->owner)) return false;
  db_.prepare("DELETE FROM responses WHERE id = ?").bind(id).run();
  return db_.changes() > 0;
}

}  // namespace quern::serve

#include "quern/memory/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "quern/base/error.h"

namespace quern::memory {
namespace {

sqlite3* raw(void* db) { return static_cast<sqlite3*>(db); }
sqlite3_stmt* raw_statement(void* s) { return static_cast<sqlite3_stmt*>(s); }

}  // namespace

SqliteStatement::SqliteStatement(void* db, std::string_view sql, const std::string& file) : db_(db), file_(file) {
  sqlite3_stmt* s = nullptr;
  if (sqlite3_prepare_v2(raw(db), sql.data(), static_cast<int>(sql.size()), &s, nullptr) != SQLITE_OK)
    complain("preparing");
  statement_ = s;
}

SqliteStatement::~SqliteStatement() { sqlite3_finalize(raw_statement(statement_)); }

SqliteStatement::SqliteStatement(SqliteStatement&& o) noexcept
    : db_(o.db_), statement_(std::exchange(o.statement_, nullptr)), file_(std::move(o.file_)), bound_(o.bound_) {}

void SqliteStatement::complain(const char* doing) const {
  fail("{}: {} (while {})", file_, sqlite3_errmsg(raw(db_)), doing);
}

SqliteStatement& SqliteStatement::bind(int64_t v) {
  if (sqlite3_bind_int64(raw_statement(statement_), ++bound_, v) != SQLITE_OK) complain("binding a number");
  return *this;
}

SqliteStatement& SqliteStatement::bind(std::string_view v) {
  if (sqlite3_bind_text64(raw_statement(statement_), ++bound_, v.data() ? v.data() : "", v.size(), SQLITE_STATIC,
                          SQLITE_UTF8) != SQLITE_OK)
    complain("binding a text");
  return *this;
}

bool SqliteStatement::step() {
  const int rc = sqlite3_step(raw_statement(statement_));
  if (rc == SQLITE_ROW) return true;
  if (rc != SQLITE_DONE) complain("running a statement");
  return false;
}

void SqliteStatement::run() {
  while (step()) {
  }
  reset();
}

void SqliteStatement::reset() {
  sqlite3_reset(raw_statement(statement_));
  bound_ = 0;
}

int64_t SqliteStatement::integer(int column) const { return sqlite3_column_int64(raw_statement(statement_), column); }

std::string_view SqliteStatement::text(int column) const {
  const void* bytes = sqlite3_column_text(raw_statement(statement_), column);
  return {static_cast<const char*>(bytes),
          static_cast<size_t>(sqlite3_column_bytes(raw_statement(statement_), column))};
}

SqliteFile::SqliteFile(const std::filesystem::path& file, SqliteOpen how) : file_(file.string()) {
  const bool create = how == SqliteOpen::create;
  sqlite3* db = nullptr;
  const int rc =
      sqlite3_open_v2(file_.c_str(), &db, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), nullptr);
  db_ = db;
  if (rc == SQLITE_OK) {
    sqlite3_busy_timeout(db, 10'000);
    return;
  }
  const std::string why = db ? sqlite3_errmsg(db) : "out of memory";
  sqlite3_close(db);
  fail("cannot open {}: {}{}", file_, why, create ? "" : "; create a memory with `quern memory import` or `add`");
}

SqliteFile::~SqliteFile() { sqlite3_close(raw(db_)); }

void SqliteFile::execute(const std::string& sql) {
  char* message = nullptr;
  if (sqlite3_exec(raw(db_), sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return;
  const std::string why = message ? message : sqlite3_errmsg(raw(db_));
  sqlite3_free(message);
  fail("{}: {} (while {})", file_, why, sql.substr(0, 60));
}

int64_t SqliteFile::last_row() const { return sqlite3_last_insert_rowid(raw(db_)); }
int64_t SqliteFile::changes() const { return sqlite3_changes64(raw(db_)); }

SqliteWrite::~SqliteWrite() {
  if (done_) return;
  try {
    db_.execute("ROLLBACK");
  } catch (const Error&) {  // the failure that brought us here ended the transaction already
  }
}

}  // namespace quern::memory

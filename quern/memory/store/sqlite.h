// Thin wrapper around SQLite: a connection, statements with bound values, errors with the file's name. Only sqlite.cc
// includes sqlite3.h.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace quern::memory {

class SqliteStatement {
 public:
  SqliteStatement(void* db, std::string_view sql, const std::string& file);
  ~SqliteStatement();
  SqliteStatement(SqliteStatement&& other) noexcept;
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;
  SqliteStatement& bind(int64_t v);
  SqliteStatement& bind(std::string_view v);  // bytes as they are, NULs too; they must live until the next step
  bool step();                                // a row is there
  void run();                                 // to the end, and ready to be bound again
  void reset();
  int64_t integer(int column) const;
  std::string_view text(int column) const;  // until the next step

 private:
  [[noreturn]] void complain(const char* doing) const;
  void* db_;
  void* statement_ = nullptr;
  std::string file_;
  int bound_ = 0;
};

enum class SqliteOpen : bool { existing, create };

class SqliteFile {
 public:
  SqliteFile(const std::filesystem::path& file, SqliteOpen how);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;
  void execute(const std::string& sql);
  SqliteStatement prepare(std::string_view sql) { return SqliteStatement(db_, sql, file_); }
  int64_t last_row() const;
  int64_t changes() const;
  const std::string& file() const { return file_; }

 private:
  void* db_ = nullptr;
  std::string file_;
};

// Begins a transaction that writes; undone unless committed.
class SqliteWrite {
 public:
  explicit SqliteWrite(SqliteFile& db) : db_(db) { db_.execute("BEGIN IMMEDIATE"); }
  ~SqliteWrite();
  void commit() { db_.execute("COMMIT"), done_ = true; }

 private:
  SqliteFile& db_;
  bool done_ = false;
};

}  // namespace quern::memory

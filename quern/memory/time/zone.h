// Time zones: conversion between wall clock and UTC seconds. Named zones are read from the system's compiled tables
// (TZif, RFC 8536) and, past their last line, from the rule at their end ("CET-1CEST,M3.5.0,M10.5.0/3"). "UTC" and
// fixed offsets ("+02:00") need no files. A local time that a clock change skips is read with the offset before it;
// one that occurs twice means the first time.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quern/memory/time/calendar.h"

namespace quern::memory {

class Zone {
 public:
  Zone();                                     // UTC
  static Zone load(const std::string& name);  // throws Error
  static Zone from_table(std::string name, std::string_view tzif);
  const std::string& name() const { return name_; }
  int32_t offset_at(int64_t utc) const;  // seconds east of Greenwich
  LocalSeconds to_local(int64_t utc) const { return utc + offset_at(utc); }
  int64_t to_utc(LocalSeconds local) const;

 private:
  struct Table;
  std::string name_;
  int32_t fixed_ = 0;
  std::shared_ptr<const Table> table_;
};

}  // namespace quern::memory

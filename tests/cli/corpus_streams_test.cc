// quern corpus between other programs: rows through standard input, standard output and pipes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <filesystem>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "tests/cli/shell.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class CliCorpusStreams : public ::testing::Test {
 protected:
  CliCorpusStreams() : dir_(folder_ / "") {}
  Ran run(const std::string& command) const { return shell(fmt::format("cd {} && {}", dir_, command)); }
  ScratchFolder folder_;
  const std::string dir_;
};

TEST_F(CliCorpusStreams, FromOneProgramToTheNext) {
  write_file(dir_ + "/a.jsonl", "{\"text\":\"mail me@mill.org\"}\n{\"text\":\"two\"}\n");
  const std::string kept = "{\"text\":\"mail <EMAIL>\"}\n{\"text\":\"two\"}\n";
  Ran r = run("cat a.jsonl | quern corpus filter - --filter pii --out -");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, kept);
  EXPECT_NE(r.err.find("-: kept 2 of 2 documents"), std::string::npos) << r.err;
  r = run("gzip -c a.jsonl | quern corpus extract - --out - | quern corpus filter - --filter pii --out -");
  EXPECT_EQ(r.out, kept) << r.err;
  r = run("quern corpus filter web=- --filter pii --out - < a.jsonl");
  EXPECT_EQ(r.out, "{\"text\":\"mail <EMAIL>\",\"source\":\"web\"}\n{\"text\":\"two\",\"source\":\"web\"}\n")
      << r.err;
  r = run("gzip -c a.jsonl | quern corpus stats - --json");
  EXPECT_EQ(Json::parse(r.out).at("all").at("documents").as_int(), 2) << r.out << r.err;
  r = run("cat a.jsonl | quern corpus filter - --filter pii --out o");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(Json::read(dir_ + "/o/manifest.json").at("inputs").as_array().at(0).at("path").as_string(), "-");
  r = run("mkfifo p && (cat a.jsonl > p & quern corpus extract p --out -)");
  EXPECT_EQ(r.out, "{\"text\":\"mail me@mill.org\"}\n{\"text\":\"two\"}\n") << r.err;
}

TEST_F(CliCorpusStreams, TheFormIsToldByTheFirstBytesOrAFlag) {
  write_file(dir_ + "/a.html", " <!DOCTYPE html><title>T</title><p>text");
  const std::string page = "{\"id\":0,\"mime\":\"text/html\",\"title\":\"T\",\"text\":\"text\"}\n";
  EXPECT_EQ(run("quern corpus extract - --out - < a.html").out, page);
  write_file(dir_ + "/a.warc", "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 1\r\n\r\nx\r\n\r\n");
  EXPECT_EQ(run("gzip -c a.warc | quern corpus extract - --out -").out, "{\"id\":0,\"text\":\"x\"}\n");
  write_file(dir_ + "/a.csv", "text,n\none,1\n");
  Ran r = run("quern corpus extract - --out - < a.csv");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("are not those of JSON lines, WARC or HTML: name the format (--form)"), std::string::npos)
      << r.err;
  EXPECT_EQ(run("quern corpus extract - --form csv --out - < a.csv").out, "{\"text\":\"one\",\"n\":\"1\"}\n");
  r = run("printf '%%PDF-1.4' | quern corpus extract - --out -");
  EXPECT_NE(r.err.find("PDF is not read"), std::string::npos) << r.err;
  EXPECT_EQ(run("quern corpus extract - --out - < /dev/null").code, 0);  // nothing is lost
}

TEST_F(CliCorpusStreams, WhatAStreamCannotDoIsRefused) {
  write_file(dir_ + "/a.jsonl", "{\"text\":\"one\"}\n");
  const std::pair<const char*, const char*> all[] = {
      {"dedup - --out o < a.jsonl", "-: this stage reads its inputs twice"},
      {"mix - --share input=1 --out o < a.jsonl", "-: this stage reads its inputs twice"},
      {"repeats - --unit span --out o < a.jsonl", "-: this stage reads its inputs twice"},
      {"extract - - --out - < a.jsonl", "- is listed twice"},
      {"extract - --form parquet --out - < a.jsonl", "Parquet is read from files only"},
      {"dedup a.jsonl --out -", "--out -: this stage writes a folder"},
      {"filter a.jsonl --filter pii --rejects --out -", "--rejects needs an output folder"},
      {"extract a.jsonl --json --out -", "--json needs an output folder"},
      {"filter a.jsonl --filter none --out o", "name a filter, or use quern corpus extract"},
  };
  for (const auto& [words, message] : all) {
    const Ran r = run(fmt::format("quern corpus {}", words));
    EXPECT_NE(r.code, 0) << words;
    EXPECT_NE(r.err.find(message), std::string::npos) << words << ": " << r.err;
    EXPECT_EQ(r.out, "") << words;
  }
  EXPECT_FALSE(fs::exists(dir_ + "/-"));
}

TEST_F(CliCorpusStreams, ALostStreamIsAFailure) {
  Ran r = run("printf 'no json\\n' | quern corpus extract - --form jsonl --out -");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("-:1: bad JSON"), std::string::npos) << r.err;
  r = run("printf '{\"text\":\"a\"}\\nno json\\n' | quern corpus extract - --out -");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out, "{\"text\":\"a\"}\n");
}

}  // namespace
}  // namespace quern

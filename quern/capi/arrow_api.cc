// Tables in and out over the Arrow C interfaces: the functions of quern.h that take an ArrowArrayStream.
#include <cerrno>
#include <fstream>

#include "quern/capi/arrow_in.h"
#include "quern/capi/handles.h"
#include "quern/capi/json_options.h"
#include "quern/capi/row_stream.h"
#include "quern/capi/verdict_stream.h"
#include "quern/corpus/io/json_line.h"

struct quern_texts {
  quern::capi::ArrowTexts texts;
  std::vector<std::string> bytes = {};  // by column, of the current batch
  std::vector<std::vector<int64_t>> ends = {};

  void lay_out() {
    bytes.assign(texts.columns(), {}), ends.assign(texts.columns(), {});
    for (size_t i = 0; i < texts.columns(); ++i)
      for (const std::string_view text : texts.texts(i)) {
        bytes[i] += text;
        ends[i].push_back(static_cast<int64_t>(bytes[i].size()));
      }
  }
};

namespace quern::capi {
namespace {

std::vector<std::string> column_names(const char* json) {
  std::vector<std::string> names;
  if (!json) return names;
  const Json listed = Json::parse(json, "columns");
  for (const Json& name : listed.as_array("columns")) names.push_back(name.as_string("columns"));
  return names;
}

// {"row", "text"} of what is left of the first column, rows counted from 0.
int64_t write_lines(ArrowTexts& texts, const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary);
  std::string lines;
  int64_t row = 0;
  while (texts.next()) {
    lines.clear();
    for (const std::string_view text : texts.texts(0)) {
      fmt::format_to(std::back_inserter(lines), "{{\"row\":{},\"text\":", row++);
      corpus::append_json_string(lines, text);
      lines += "}\n";
    }
    out.write(lines.data(), static_cast<std::streamsize>(lines.size()));
  }
  out.close();
  if (!out) fail("cannot write {}: {}", file.string(), std::strerror(errno));
  return row;
}

// One array as a stream of one batch.
struct SingleArray {
  ArrowSchema schema;
  ArrowArray array;
};

SingleArray& single(ArrowArrayStream* s) { return *static_cast<SingleArray*>(s->private_data); }

void release_single(ArrowArrayStream* s) {
  SingleArray& one = single(s);
  if (one.schema.release) one.schema.release(&one.schema);
  if (one.array.release) one.array.release(&one.array);
  delete &one;
  s->release = nullptr;
}

template <class T>
void move_out(T& from, T* to) {
  *to = from;
  from.release = nullptr;
}

// Given once: a copy of it would need all that is below it copied.
int move_schema(ArrowArrayStream* s, ArrowSchema* to) {
  if (!single(s).schema.release) return EINVAL;
  move_out(single(s).schema, to);
  return 0;
}

// The array, then the end.
int move_array(ArrowArrayStream* s, ArrowArray* to) {
  if (single(s).array.release)
    move_out(single(s).array, to);
  else
    *to = {};
  return 0;
}

const char* single_error(ArrowArrayStream* s) {
  return single(s).schema.release ? nullptr : "this stream of one array hands out its schema once";
}

// Structs by the names that capsules have.
struct ArrowKind {
  std::string_view name;
  void* (*make)();
  void (*end)(void* arrow);
};

template <class T>
constexpr ArrowKind kind_of(std::string_view name) {
  return {name, []() -> void* { return new T{}; },
          [](void* arrow) {
            T* struct_of = static_cast<T*>(arrow);
            if (struct_of->release) struct_of->release(struct_of);
            delete struct_of;
          }};
}

const ArrowKind* find_kind(std::string_view name) {
  static constexpr ArrowKind kKinds[] = {kind_of<ArrowSchema>("arrow_schema"), kind_of<ArrowArray>("arrow_array"),
                                         kind_of<ArrowArrayStream>("arrow_array_stream")};
  for (const ArrowKind& k : kKinds)
    if (k.name == name) return &k;
  return nullptr;
}

struct CapsuleCalls {
  const char* (*name_of)(void*) = nullptr;
  void* (*pointer_of)(void*, const char*) = nullptr;
};
CapsuleCalls& capsule_calls() {
  static CapsuleCalls calls;
  return calls;
}

void end_capsule(void* capsule) {
  const char* name = capsule_calls().name_of(capsule);
  quern_arrow_free(capsule_calls().pointer_of(capsule, name), name);
}

}  // namespace
}  // namespace quern::capi

using namespace quern::capi;

extern "C" {

void* quern_arrow_new(const char* name) {
  return guarded(static_cast<void*>(nullptr), [&] {
    const ArrowKind* kind = find_kind(required(name, "name"));
    if (!kind) quern::fail("'{}': expected arrow_schema, arrow_array or arrow_array_stream", name);
    return kind->make();
  });
}

void quern_arrow_free(void* arrow, const char* name) {
  if (const ArrowKind* kind = arrow && name ? find_kind(name) : nullptr) kind->end(arrow);
}

quern_capsule_end quern_arrow_capsule_end(const char* (*name_of)(void*), void* (*pointer_of)(void*, const char*)) {
  return guarded(static_cast<quern_capsule_end>(nullptr), [&] {
    required(name_of, "name_of"), required(pointer_of, "pointer_of");
    capsule_calls() = {name_of, pointer_of};
    return quern_capsule_end{end_capsule};
  });
}

int quern_rows_stream(const char* options_json, ArrowArrayStream* out) {
  return guarded(-1, [&] {
    required(out, "out");
    export_stream(row_stream(read_options<RowStreamSettings>(&required<const char>(options_json, "options_json"))),
                  out);
    return 0;
  });
}

int quern_filter_stream(const char* options_json, ArrowArrayStream* texts, ArrowArrayStream* out) {
  return guarded(-1, [&] {
    required(texts, "texts"), required(out, "out");
    export_stream(verdict_stream(texts, read_options<VerdictSettings>(options_json)), out);
    return 0;
  });
}

int quern_array_stream(ArrowSchema* schema, ArrowArray* array, ArrowArrayStream* out) {
  return guarded(-1, [&] {
    required(schema, "schema"), required(array, "array"), required(out, "out");
    if (!schema->release || !array->release) quern::fail("the Arrow array was released, or taken by another reader");
    auto one = std::make_unique<SingleArray>();
    move_out(*schema, &one->schema), move_out(*array, &one->array);
    *out = {.get_schema = move_schema,
            .get_next = move_array,
            .get_last_error = single_error,
            .release = release_single,
            .private_data = one.release()};
    return 0;
  });
}

quern_texts* quern_texts_open(ArrowArrayStream* stream, const char* columns_json) {
  return guarded(static_cast<quern_texts*>(nullptr), [&] {
    required(stream, "stream");
    return new quern_texts{.texts = {stream, column_names(columns_json)}};
  });
}

void quern_texts_free(quern_texts* texts) { delete texts; }

int64_t quern_texts_next(quern_texts* texts) {
  return guarded(int64_t{-1}, [&] {
    quern_texts& t = required(texts, "texts");
    if (!t.texts.next()) return int64_t{0};
    t.lay_out();
    return t.texts.rows();
  });
}

const char* quern_texts_block(const quern_texts* texts, int64_t column, const int64_t** ends) {
  return guarded(static_cast<const char*>(nullptr), [&] {
    const quern_texts& t = required(texts, "texts");
    if (column < 0 || column >= static_cast<int64_t>(t.bytes.size()))
      quern::fail("column {} of {}: quern_texts_next did not return a batch with it", column, t.bytes.size());
    const auto i = static_cast<size_t>(column);
    required(ends, "ends") = t.ends[i].data();
    return t.bytes[i].c_str();
  });
}

int64_t quern_texts_write(quern_texts* texts, const char* file) {
  return guarded(int64_t{-1}, [&] { return write_lines(required(texts, "texts").texts, required(file, "file")); });
}

}  // extern "C"

// JSON lines in, JSON lines out, for the commands of cli.md: one answer line per input line, in input order, never
// stopping at a bad line. Lines may be as long as memory allows. One thread.
//
//   DI_TRY(JsonlReader reader, JsonlReader::open("-"));
//   return answer_jsonl(reader, [&](const JsonlRecord& record, JsonWriter& answer) -> Status {
//     DI_TRY(const std::string_view text, record.string("text"));
//     answer.field("length", static_cast<int64_t>(text.size()));
//     return {};
//   });
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"

namespace deepinfer::cli {

// Lines of a file or of standard input. Lines of white space only are skipped.
class JsonlReader {
 public:
  // "-" or "": standard input. Errors name the path.
  static Result<JsonlReader> open(const std::string& path);
  // Reads `fd` without owning it.
  static JsonlReader from_fd(int fd, std::string name);
  JsonlReader(JsonlReader&&) noexcept;
  JsonlReader& operator=(JsonlReader&&) noexcept;
  ~JsonlReader();

  // The next line without its end, or nothing at the end of input. The view lives until the next call, and
  // simdjson::SIMDJSON_PADDING bytes behind it may be read. kCancelled when a signal asked to stop (base/interrupt.h).
  Result<std::optional<std::string_view>> next();
  // True if next() will return without waiting for more input.
  bool line_ready() const;
  // Number of the last line returned, from 1.
  int64_t line_number() const { return line_number_; }
  const std::string& name() const { return name_; }

 private:
  JsonlReader() = default;
  Status fill();

  int fd_ = -1;
  bool owned_ = false, at_end_ = false;
  std::string name_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0, begin_ = 0, end_ = 0;
  size_t searched_ = 0;  // no line end in [begin_, searched_)
  int64_t line_number_ = 0;
};

// One parsed line. Getters fail with a message that names the field, what it must be and what it is.
class JsonlRecord {
 public:
  explicit JsonlRecord(simdjson::dom::object object) : object_(object) {}
  const simdjson::dom::object& object() const { return object_; }
  bool has(std::string_view key) const;  // there, and not null

  Result<std::string_view> string(std::string_view key) const;
  Result<bool> boolean(std::string_view key, bool otherwise) const;
  Result<int64_t> integer(std::string_view key, int64_t otherwise) const;
  Result<double> number(std::string_view key, double otherwise) const;
  // An array of integers that fit 32 bits.
  Result<std::vector<int32_t>> ids(std::string_view key) const;
  // Error that names the first field not in the list ("id" is always allowed).
  Status only(std::initializer_list<std::string_view> known) const;

 private:
  simdjson::dom::object object_;
};

// Parses lines. Keeps its buffers; a record and the strings in it live until the next parse.
class JsonlParser {
 public:
  // REQUIRES: SIMDJSON_PADDING readable bytes behind `line`. The error says what is wrong with the line; `id_json` gets
  // the JSON of its "id" ("null" if there is none).
  Result<JsonlRecord> parse(std::string_view line, std::string& id_json);

 private:
  simdjson::dom::parser parser_;
};

// {"id":ID,"error":{"code":"...","message":"..."}} and a line end, appended.
void append_error_line(std::string& out, std::string_view id_json, const Error& error);

// Answers every line: `answer_record` adds the fields of one answer to an open object that already has the id, or
// returns an error, which becomes that line's answer. Output is written in large pieces, but always before waiting for
// more input. Returns 1 if any line failed, else 0; an error only if reading or writing itself failed.
Result<int> answer_jsonl(JsonlReader& reader,
                         const std::function<Status(const JsonlRecord&, JsonWriter&)>& answer_record);

}  // namespace deepinfer::cli

#include "cli/jsonl.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <thread>

namespace deepinfer::cli {
namespace {

// A reader on a pipe that a thread fills in pieces of the given size.
class Pipe {
 public:
  Pipe(std::string text, size_t piece) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    read_end_ = ends[0];
    writer_ = std::thread([text = std::move(text), piece, fd = ends[1]] {
      for (size_t at = 0; at < text.size(); at += piece)
        if (write(fd, text.data() + at, std::min(piece, text.size() - at)) < 0) break;
      close(fd);
    });
  }
  ~Pipe() {
    writer_.join();
    close(read_end_);
  }
  JsonlReader reader() const { return JsonlReader::from_fd(read_end_, "pipe"); }

 private:
  int read_end_;
  std::thread writer_;
};

std::vector<std::string> lines_of(JsonlReader reader) {
  std::vector<std::string> out;
  for (;;) {
    const auto line = reader.next();
    EXPECT_TRUE(line);
    if (!line || !*line) return out;
    out.emplace_back(**line);
  }
}

TEST(JsonlReaderTest, gives_the_same_lines_however_the_input_is_cut) {
  std::string text;
  std::vector<std::string> want;
  std::mt19937 random(1);
  for (int k = 0; k < 300; ++k) {
    std::string line(1 + random() % 40, static_cast<char>('a' + k % 26));
    text += line + "\n";
    if (k % 7 == 0) text += k % 2 ? "\n" : "  \t\r\n";
    want.push_back(line);
  }
  want.push_back("last, without an end");
  text += want.back();
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}, text.size()}) {
    const Pipe pipe(text, piece);
    EXPECT_EQ(lines_of(pipe.reader()), want) << piece;
  }
}

TEST(JsonlReaderTest, reads_lines_far_longer_than_its_buffer) {
  const std::string longest(5 << 20, 'x');
  const Pipe pipe("a\n" + longest + "\nb\n", 65536);
  const std::vector<std::string> lines = lines_of(pipe.reader());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "a");
  EXPECT_TRUE(lines[1] == longest);
  EXPECT_EQ(lines[2], "b");
}

TEST(JsonlReaderTest, counts_empty_lines_too) {
  const Pipe pipe("a\n\n\nb\n", 100);
  JsonlReader reader = pipe.reader();
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line_number(), 1);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line_number(), 4);
  EXPECT_EQ(*reader.next(), std::nullopt);
}

TEST(JsonlReaderTest, names_a_missing_file) {
  const auto reader = JsonlReader::open("/nowhere/in.jsonl");
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kNotFound);
  EXPECT_NE(reader.error().message.find("/nowhere/in.jsonl"), std::string::npos);
}

Result<JsonlRecord> parse(JsonlParser& parser, const std::string& line, std::string& id) {
  static std::string padded;
  padded = line + std::string(simdjson::SIMDJSON_PADDING, '\0');
  return parser.parse(std::string_view(padded).substr(0, line.size()), id);
}

TEST(JsonlParserTest, keeps_the_id_as_it_was_written) {
  JsonlParser parser;
  std::string id;
  ASSERT_TRUE(parse(parser, R"({"id":"a\n\"b"})", id));
  EXPECT_EQ(id, R"("a\n\"b")");
  ASSERT_TRUE(parse(parser, R"({"id": 18446744073709551615})", id));
  EXPECT_EQ(id, "18446744073709551615");
  ASSERT_TRUE(parse(parser, R"({"id": {"k": [1, null]}})", id));
  EXPECT_EQ(id, R"({"k":[1,null]})");
  ASSERT_TRUE(parse(parser, "{}", id));
  EXPECT_EQ(id, "null");
}

TEST(JsonlParserTest, refuses_lines_that_are_not_valid_json_objects) {
  JsonlParser parser;
  std::string id;
  for (const char* line : {"not json", "{", "[1]", "7", "\"text\"", R"({"text":"\ud800"})", R"({"text":"\udc00x"})",
                           "{\"text\":\"\xff\"}", "{\"text\":\"\xed\xa0\x80\"}", "{} {}", "{\"a\":\"\x01\"}"}) {
    const auto record = parse(parser, line, id);
    ASSERT_FALSE(record) << line;
    EXPECT_EQ(record.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(id, "null");
  }
}

TEST(JsonlRecordTest, names_the_field_that_is_wrong) {
  JsonlParser parser;
  std::string id;
  const auto record =
      parse(parser, R"({"text":7,"flag":"x","n":1.5,"ids":[1,2,"3"],"big":[9999999999],"none":null,"ok":[0,-1]})", id);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->string("text").error().message, "text: must be a string, found a number");
  EXPECT_EQ(record->string("nothing").error().message, "nothing: is missing; expected a string");
  EXPECT_EQ(record->boolean("flag", true).error().message, "flag: must be true or false, found a string");
  EXPECT_EQ(record->integer("n", 0).error().message, "n: must be an integer, found a number");
  EXPECT_EQ(record->number("n", 0).value(), 1.5);
  EXPECT_EQ(record->ids("ids").error().message, "ids[2]: must be an integer, found a string");
  EXPECT_EQ(record->ids("big").error().message, "big[0]: 9999999999 does not fit 32 bits");
  EXPECT_EQ(record->ids("ok").value(), std::vector<int32_t>({0, -1}));
  EXPECT_EQ(record->boolean("none", true).value(), true);
  EXPECT_EQ(record->integer("absent", 5).value(), 5);
  EXPECT_FALSE(record->has("none"));
  EXPECT_FALSE(record->only({"text", "flag"}));
  EXPECT_NE(record->only({"text", "flag"}).error().message.find("n: unknown field"), std::string::npos);
}

TEST(JsonlErrorTest, is_one_json_line) {
  std::string out;
  append_error_line(out, "\"a\"", Error{ErrorCode::kInvalidArgument, "a \"quoted\"\nmessage"});
  EXPECT_EQ(out,
            "{\"id\":\"a\",\"error\":{\"code\":\"invalid_argument\",\"message\":\"a \\\"quoted\\\"\\nmessage\"}}\n");
}

}  // namespace
}  // namespace deepinfer::cli

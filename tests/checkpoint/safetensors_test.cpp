#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace deepinfer {
namespace {

std::string file_of(const std::string& json, uint64_t data_bytes) {
  const uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + json + std::string(data_bytes, '\0');
}

Result<SafetensorsHeader> parse(const std::string& json, uint64_t data_bytes) {
  const std::string file = file_of(json, data_bytes);
  return parse_safetensors_header(file, file.size(), "shard");
}

void expect_refused(const std::string& json, uint64_t data_bytes, const std::string& word) {
  const auto r = parse(json, data_bytes);
  ASSERT_FALSE(r) << json;
  EXPECT_NE(r.error().message.find(word), std::string::npos) << r.error().message;
  EXPECT_EQ(r.error().message.rfind("shard: ", 0), 0u);
}

void expect_fault(const std::string& json, uint64_t data_bytes, const std::string& word) {
  const auto r = parse(json, data_bytes);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_NE(r->layout_fault.find(word), std::string::npos) << r->layout_fault;
}

TEST(Safetensors, a_plain_header_is_read_in_order_of_the_data) {
  const auto r = parse(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
      R"("s":{"dtype":"I64","shape":[],"data_offsets":[28,36]},"e":{"dtype":"F8_E4M3","shape":[0,7],"data_offsets":[36,36]}})",
      36);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->layout_fault, "");
  ASSERT_EQ(r->tensors.size(), 4u);
  EXPECT_EQ(r->tensors[0].name, "a");
  EXPECT_EQ(r->tensors[1].name, "b");
  EXPECT_EQ(r->tensors[1].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(r->tensors[1].dtype, DType::kF32);
  EXPECT_EQ(r->tensors[2].name, "s");
}

TEST(Safetensors, damaged_headers_are_refused_and_the_tensor_is_named) {
  expect_refused("{", 0, "JSON");
  expect_refused("[]", 0, "object");
  expect_refused(R"({"t":3})", 0, "tensor t");
  expect_refused(R"({"t":{"shape":[1],"data_offsets":[0,4]}})", 4, "tensor t: dtype");
  expect_refused(R"({"t":{"dtype":"Q4_K","shape":[1],"data_offsets":[0,4]}})", 4, "Q4_K");
  expect_refused(R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4, "tensor t: shape");
  expect_refused(R"({"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "[-1]");
  expect_refused(R"({"t":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4, "[1.5]");
  expect_refused(R"({"t":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})", 4, "overflows");
  expect_refused(R"({"t":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,4]}})", 4, "overflows");
  expect_refused(R"({"t":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4, "8 dimensions");
  expect_refused(R"({"t":{"dtype":"F32","shape":[1]}})", 4, "data_offsets");
  expect_refused(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "data_offsets");
  expect_refused(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 8, "data_offsets");
  expect_refused(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4, "data_offsets");
  expect_refused(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "outside");
  expect_refused(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 4, "outside");
  expect_refused(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "do not fit");
}

TEST(Safetensors, overlaps_holes_and_leftovers_are_faults_of_the_layout) {
  expect_fault(
      R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[4],"data_offsets":[2,6]}})", 6,
      "overlap");
  expect_fault(
      R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"I8","shape":[4],"data_offsets":[5,9]}})", 9,
      "hole");
  expect_fault(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})", 5, "belong to none");
  expect_fault(R"({})", 1, "belong to none");
}

TEST(Safetensors, header_lengths_beyond_the_file_or_reason_are_refused) {
  std::string file = file_of("{}", 0);
  for (uint64_t length : {uint64_t{3}, uint64_t{1} << 40, uint64_t{1} << 62, ~uint64_t{0}}) {
    std::memcpy(file.data(), &length, 8);
    EXPECT_FALSE(parse_safetensors_header(file, file.size(), "shard")) << length;
  }
  for (size_t n = 0; n < 10; ++n) {
    const std::string whole = file_of("{}", 0);
    EXPECT_EQ(static_cast<bool>(parse_safetensors_header(std::string_view(whole).substr(0, n), n, "shard")), n == 10);
  }
}

TEST(Safetensors, errors_stay_short_whatever_the_names) {
  const std::string name(100000, 'n');
  const auto r = parse("{\"" + name + R"(":{"dtype":")" + name + R"(","shape":[1],"data_offsets":[0,4]}})", 4);
  ASSERT_FALSE(r);
  EXPECT_LT(r.error().message.size(), 600u);
  std::string dims = "0.5";
  for (int i = 0; i < 10000; ++i) dims += ",1";
  const auto s = parse(R"({"t":{"dtype":"F32","shape":[)" + dims + R"(],"data_offsets":[0,4]}})", 4);
  ASSERT_FALSE(s);
  EXPECT_LT(s.error().message.size(), 600u);
}

TEST(Safetensors, a_header_with_random_bytes_flipped_never_crashes) {
  const std::string whole = file_of(
      R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]}})",
      20);
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string file = whole;
    for (int j = 0; j <= i % 3; ++j) file[random() % file.size()] = static_cast<char>(random());
    const auto r = parse_safetensors_header(file, file.size(), "shard");
    if (r) {
      for (const TensorEntry& t : r->tensors) ASSERT_LE(r->data_offset + t.end, file.size());
    }
    accepted += static_cast<bool>(r);
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace deepinfer

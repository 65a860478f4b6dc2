// Finds the literals of added tokens (<｜User｜>, <think>, ...) in text: leftmost, and of those that start there the
// longest. The reference makes two passes, first the tokens with normalized: false, then the others on what is left
// between the matches; so does the tokenizer, with one LiteralSet each. Time linear in the text (a literal is short).
// Built once, then read only: any thread.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace deepinfer::tokenizer {

class LiteralSet {
 public:
  struct Match {
    size_t begin = 0, end = 0;
    int32_t id = -1;  // -1: none
  };

  // An empty literal is ignored. Adding one twice keeps the later id.
  void add(std::string_view literal, int32_t id);
  bool empty() const { return nodes_.size() == 1; }
  // First match at or after `from`; none: id -1 and begin = end = text.size().
  Match find(std::string_view text, size_t from) const;

 private:
  // A trie whose nodes list their children: few, and mostly one.
  struct Node {
    int32_t id = -1;
    uint32_t first_child = 0;  // 0: none (the root is nobody's child)
    uint32_t sibling = 0;
    uint8_t byte = 0;
  };
  uint32_t child(uint32_t node, uint8_t byte) const;

  std::vector<Node> nodes_{1};
  std::array<uint32_t, 256> start_{};  // child of the root by byte
};

}  // namespace deepinfer::tokenizer

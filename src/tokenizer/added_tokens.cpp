#include "tokenizer/added_tokens.h"

namespace deepinfer::tokenizer {

inline uint32_t LiteralSet::child(uint32_t node, uint8_t byte) const {
  uint32_t at = nodes_[node].first_child;
  while (at != 0 && nodes_[at].byte != byte) at = nodes_[at].sibling;
  return at;
}

void LiteralSet::add(std::string_view literal, int32_t id) {
  if (literal.empty()) return;
  uint32_t node = 0;
  for (const char c : literal) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t next = node == 0 ? start_[byte] : child(node, byte);
    if (next == 0) {
      next = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({-1, 0, nodes_[node].first_child, byte});
      nodes_[node].first_child = next;
      if (node == 0) start_[byte] = next;
    }
    node = next;
  }
  nodes_[node].id = id;
}

LiteralSet::Match LiteralSet::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    uint32_t node = start_[static_cast<uint8_t>(text[begin])];
    if (node == 0) continue;
    Match match;
    for (size_t end = begin + 1; node != 0; ++end) {
      if (nodes_[node].id >= 0) match = {begin, end, nodes_[node].id};
      if (end == text.size()) break;
      node = child(node, static_cast<uint8_t>(text[end]));
    }
    if (match.id >= 0) return match;
  }
  return {text.size(), text.size(), -1};
}

}  // namespace deepinfer::tokenizer

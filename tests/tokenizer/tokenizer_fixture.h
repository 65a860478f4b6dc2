// A small tokenizer.json made in memory, and where the published ones lie.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace deepinfer::testing {

// Byte-level spelling of raw bytes, e.g. " a" -> "Ġa".
std::string spell(std::string_view bytes);

// All 256 bytes (ids 3 to 258, after three special added tokens 0 to 2), then one entry a merge in the given order
// (parts as raw bytes), then added tokens <think> (not special) and <|x|>, <|x|y> (special, normalized).
std::string small_tokenizer_json(const std::vector<std::pair<std::string, std::string>>& merges);

// Random merges whose parts exist already, over a few letters, so that pre-tokens of those letters merge a lot.
std::vector<std::pair<std::string, std::string>> random_merges(int count, unsigned seed);

// The first of these that exists under tests/data or ../shared; empty: none.
std::string find_data(const std::string& relative);
// A published tokenizer.json: "official" or "small"; empty: none on this machine.
std::string find_tokenizer(const std::string& which);
std::string read_file(const std::string& path);

}  // namespace deepinfer::testing

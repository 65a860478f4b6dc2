#include "sampling/stop_strings.h"

#include <algorithm>
#include <utility>

namespace deepinfer {

std::string StopStrings::push(std::string_view text) {
  if (hit_ >= 0) return {};
  held_ += text;
  if (stops_.empty()) return std::exchange(held_, {});
  // The hit that is complete earliest; held_ never holds a whole stop string from before.
  size_t best_end = std::string::npos, best_begin = 0;
  for (size_t i = 0; i < stops_.size(); ++i) {
    const size_t at = held_.find(stops_[i]);
    if (at == std::string::npos) continue;
    const size_t end = at + stops_[i].size();
    if (end < best_end || (end == best_end && at < best_begin)) {
      best_end = end;
      best_begin = at;
      hit_ = static_cast<int>(i);
    }
  }
  if (hit_ >= 0) {
    std::string out = held_.substr(0, best_begin);
    held_.clear();
    return out;
  }
  // Hold back the longest end that begins some stop string.
  size_t hold = 0;
  for (const std::string& s : stops_)
    for (size_t n = std::min(held_.size(), s.size() - 1); n > hold; --n)
      if (held_.compare(held_.size() - n, n, s, 0, n) == 0) {
        hold = n;
        break;
      }
  std::string out = held_.substr(0, held_.size() - hold);
  held_.erase(0, held_.size() - hold);
  return out;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace deepinfer

// Stop strings in streamed text: text that could be the beginning of a stop string is held back until it is decided, so
// that not one character of a stop string is ever sent, wherever token borders fall. One object per output stream.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace deepinfer {

class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // Adds text; returns what may be sent now. After a hit nothing more comes out.
  std::string push(std::string_view text);
  // End of the text: what was held back.
  std::string finish();
  // The stop string that was found, or null. Of several that end at the same place in the text the one that begins
  // first wins.
  const std::string* hit() const { return hit_ < 0 ? nullptr : &stops_[static_cast<size_t>(hit_)]; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  int hit_ = -1;
};

}  // namespace deepinfer

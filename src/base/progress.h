// Progress bar on stderr, only when that is a terminal; otherwise every call is free. Drawn at most ten times a second,
// the first time after 0.1 s, so short work shows nothing; removed by finish() or the destructor. One thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace deepinfer {

class ProgressBar {
 public:
  ProgressBar(std::string title, int64_t total, std::string unit, bool enabled = true);
  ~ProgressBar() { finish(); }
  void advance(int64_t by) { set(done_ + by); }
  void set(int64_t done);
  // Removes the bar; safe to call twice.
  void finish();

 private:
  void draw();
  std::string title_, unit_;
  int64_t total_, done_ = 0;
  bool on_;
  std::chrono::steady_clock::time_point start_, drawn_;
};

// The text of a bar, shorter than `columns`: title, bar, share, done/total, rate and time left.
std::string progress_line(const std::string& title, const std::string& unit, int64_t done, int64_t total,
                          double seconds, int columns);

}  // namespace deepinfer

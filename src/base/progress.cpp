#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace deepinfer {

ProgressBar::ProgressBar(std::string title, int64_t total, std::string unit, bool enabled)
    : title_(std::move(title)), unit_(std::move(unit)), total_(total), on_(enabled && isatty(STDERR_FILENO)) {
  start_ = drawn_ = std::chrono::steady_clock::now();
}

void ProgressBar::set(int64_t done) {
  done_ = done;
  if (!on_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;  // at most ten a second
  drawn_ = now;
  draw();
}

void ProgressBar::draw() {
  winsize size = {};
  const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  const double share = total_ > 0 ? std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0) : 0;
  const double left = rate > 0 && total_ > done_ ? static_cast<double>(total_ - done_) / rate : 0;
  const std::string tail =
      fmt::format(" {:3.0f}% {}/{} {} {:.1f}/s, {:.0f} s left", share * 100, done_, total_, unit_, rate, left);
  const int width = std::clamp(columns - static_cast<int>(title_.size() + tail.size()) - 4, 0, 40);
  const int filled = static_cast<int>(share * width);
  fmt::print(stderr, "\r\033[K{} {}{}{}", title_, std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(width - filled), '.'), tail);
  std::fflush(stderr);
}

void ProgressBar::finish() {
  if (!on_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  on_ = false;
}

}  // namespace deepinfer

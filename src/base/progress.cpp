#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace deepinfer {
namespace {

// 1234567 -> "1.23M": decimal prefixes, four characters at most before the prefix.
std::string with_prefix(double v) {
  const char* prefix = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (v < 999.5) break;
    v /= 1000;
    prefix = next;
  }
  const int digits = v < 9.995 && *prefix ? 2 : v < 99.95 && *prefix ? 1 : 0;
  return fmt::format("{:.{}f}{}", v, digits, prefix);
}

std::string duration(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 99.5 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// Replaces the line. Not fmt::print, which throws when the terminal has gone.
void write_line(const std::string& text) {
  const std::string line = "\r\033[K" + text;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

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
  write_line(progress_line(title_, unit_, done_, total_, seconds, columns));
}

void ProgressBar::finish() {
  if (!on_) return;
  write_line("");
  on_ = false;
}

std::string progress_line(const std::string& title, const std::string& unit, int64_t done, int64_t total,
                          double seconds, int columns) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const double share = total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0;
  std::string tail = fmt::format(" {:3.0f}% {}/{} {} {}/s", share * 100, with_prefix(static_cast<double>(done)),
                                 with_prefix(static_cast<double>(total)), unit, with_prefix(rate));
  if (rate > 0 && total > done) tail += fmt::format(", {} left", duration(static_cast<double>(total - done) / rate));
  const int width = std::clamp(columns - static_cast<int>(title.size() + tail.size()) - 2, 0, 40);
  const int filled = static_cast<int>(share * width);
  std::string line = title + " " + std::string(static_cast<size_t>(filled), '#') +
                     std::string(static_cast<size_t>(width - filled), '.') + tail;
  // A full last column would wrap on some terminals, and a wrapped bar cannot be erased.
  line.resize(std::min(line.size(), static_cast<size_t>(std::max(columns - 1, 0))));
  return line;
}

}  // namespace deepinfer

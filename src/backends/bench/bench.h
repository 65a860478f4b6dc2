// `deepinfer bench ops`: every operator of a backend at a model's shapes, against the ceilings of the machine measured
// in the same run.
//
// Weights are views into one random buffer as large as the shape says (far above the caches for v41-flash, the size of
// the model for small) and move on with every call, so each call finds its weights as cold as a decode step would.
// Rounds alternate one sample of the ceilings with calls of the operator; all figures are medians.
// floor = max(weight and cache bytes / read bandwidth of the buffer + activations / read bandwidth of a set of their
// size, flops / peak of the unit). share = floor / time.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/registry.h"

namespace deepinfer::bench {

struct OpsOptions {
  std::string op;                        // empty: all
  std::string shape = "v41-flash";       // or "small" (models/v41-small)
  std::vector<int64_t> rows = {1, 512};  // tokens of a call
  double seconds = 0.2;                  // to spend on the calls of a case
  int64_t working_set = 0;               // bytes of weights gone through in turn; 0: as the shape says
};

struct OpTiming {
  std::string op, name;
  int64_t rows = 0, calls = 0;
  ops::Cost cost;
  double seconds = 0;
  double read_bandwidth = 0, peak_flops = 0;  // medians of the rounds of this case; 0 where not used
  double floor_seconds = 0;
  const char* bound = "";  // "read", "activations", "compute": the largest part of the floor
  double share() const { return seconds > 0 ? floor_seconds / seconds : 0; }
};

// `done` is called after every case; where it returns false the run ends. Errors: unknown operator or shape.
Status run_ops(const OpTable& table, ThreadPool& pool, const OpsOptions& options,
               const std::function<bool(const OpTiming&)>& done);

// Read bandwidth by the size of the set, for activations that lie in some cache and weights that do not.
class BandwidthLadder {
 public:
  BandwidthLadder(const OpTable& table, ThreadPool& pool);
  // bytes/s of a set of that size (the next larger measured one).
  double at(double bytes) const;

 private:
  struct Step {
    int64_t bytes;
    double bandwidth;
  };
  std::vector<Step> steps_;
};

// Floor of `cost`: weights and caches at one bandwidth, activations at another; 0: that ceiling does not bind.
struct Floor {
  double seconds;
  const char* bound;
};
Floor floor_of(const ops::Cost& cost, double read_bandwidth, double io_bandwidth, double peak_flops);

}  // namespace deepinfer::bench

// Conformance of a backend: every operator's cases, run on the backend and on the reference. One suite per operator
// owns its cases and its tolerance with the reason for it; `deepinfer check ops` and tests/ops run them.
//
// A case holds the data of some rows (or sequences, or groups: whatever the operator promises to treat one by one) and
// can be run on any list of them. Each case runs on the backend: whole, twice, with 1, 2 and 4 threads, rows reversed,
// rows alone, and in two halves; all must give the same bits per row, no byte outside an output may change, and the
// values must agree with the reference within the suite's tolerance. Outputs start as NaN patterns, so what is not
// written does not pass. One thread may run suites at a time.
#pragma once
#include <string>
#include <vector>

#include "backends/registry.h"

namespace deepinfer::conformance {

struct SuiteReport {
  std::string op;
  int passed = 0, failed = 0;  // cases
  double worst = 0;            // largest difference as a share of the tolerance (1 = at the edge)
  std::string tolerance;       // in words
  std::string first_failure;   // "case: what happened"
};

// Runs the suites of `table` (all, or the one named `op`; an unknown name is an error). `seed` varies the data.
Result<std::vector<SuiteReport>> run_suites(const OpTable& table, std::string_view op = {}, uint64_t seed = 1);

// Names of operators in list.h without a suite; empty.
std::vector<std::string> operators_without_suite();

}  // namespace deepinfer::conformance

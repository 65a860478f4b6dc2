// The cases of `bench ops`: one operator with one set of parameters at a model's shape.
#pragma once
#include "backends/bench/shapes.h"

namespace deepinfer::bench {

// A case owns its buffers. call() may prepare nothing that costs time beside the operator; cost() is of the last call.
class Case {
 public:
  Case(std::string op_name, std::string case_name, int64_t case_rows)
      : op(std::move(op_name)), name(std::move(case_name)), rows(case_rows) {}
  const std::string op, name;
  const int64_t rows;
  std::function<void(ops::Context&)> call;
  std::function<ops::Cost()> cost;
  std::function<Status()> check;  // of the parameters after a call
  std::vector<std::shared_ptr<void>> owned;
  std::shared_ptr<WeightSource> weights;  // null: the case has none worth rotating
};

struct CaseMaker {
  const char* op;
  std::vector<Case> (*make)(const OpTable& table, const Shape& shape, int64_t rows);
};
// In the order of the operator list.
const std::vector<CaseMaker>& case_makers();

}  // namespace deepinfer::bench

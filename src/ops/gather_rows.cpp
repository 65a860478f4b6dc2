#include "ops/gather_rows.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const GatherRowsParams& p) {
  OPS_TRY(check_mat("gather_rows x", p.x, -1, -1));
  OPS_TRY(check_mat("gather_rows out", p.out, -1, p.x.cols));
  OPS_TRY(check_same_type("gather_rows x", p.x, "out", p.out));
  return check_pointer("gather_rows index", p.index, p.out.rows);
}

}  // namespace deepinfer::ops

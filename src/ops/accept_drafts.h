// accept_drafts: verification by equality under shared noise. Row group i holds the target's own choices c_0..c_n for
// the rows [last token, d_1..d_n]; accepted = number of leading j with d_{j+1} == c_j; the round yields
// c_0..c_accepted. Exact integers.
#pragma once
#include "ops/op.h"

namespace deepinfer::ops {
struct AcceptDraftsParams {
  int groups = 0;
  const int32_t* first_row = nullptr;   // [groups]
  const int32_t* num_drafts = nullptr;  // [groups]
  const int32_t* sampled = nullptr;     // [rows] target choices
  const int32_t* drafts = nullptr;      // [groups, drafts_stride]
  int64_t drafts_stride = 0;
  int32_t* accepted = nullptr;  // out [groups]
};
Status check(const AcceptDraftsParams& p);
}  // namespace deepinfer::ops

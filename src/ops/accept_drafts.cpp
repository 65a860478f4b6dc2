#include "ops/accept_drafts.h"

#include "ops/check_util.h"

namespace deepinfer::ops {

Status check(const AcceptDraftsParams& p) {
  OPS_REQUIRE(p.groups >= 0, "accept_drafts groups: {}", p.groups);
  OPS_TRY(check_pointer("accept_drafts first_row", p.first_row, p.groups));
  OPS_TRY(check_pointer("accept_drafts num_drafts", p.num_drafts, p.groups));
  OPS_TRY(check_pointer("accept_drafts sampled", p.sampled, p.groups));
  OPS_TRY(check_pointer("accept_drafts accepted", p.accepted, p.groups));
  for (int g = 0; g < p.groups; ++g) {
    OPS_REQUIRE(p.num_drafts[g] >= 0 && p.num_drafts[g] <= p.drafts_stride,
                "accept_drafts num_drafts[{}]: {}, expected 0 to {} (drafts_stride)", g, p.num_drafts[g],
                p.drafts_stride);
    OPS_REQUIRE(p.first_row[g] >= 0, "accept_drafts first_row[{}]: {}", g, p.first_row[g]);
    OPS_REQUIRE(p.num_drafts[g] == 0 || p.drafts, "accept_drafts drafts: null pointer");
  }
  return {};
}

}  // namespace deepinfer::ops

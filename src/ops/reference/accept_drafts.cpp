#include "ops/reference/reference.h"
#include "ops/reference/util.h"

namespace deepinfer::reference {

void accept_drafts(const ops::AcceptDraftsParams& p, ops::Context&) {
  for (int g = 0; g < p.groups; ++g) {
    int n = 0;
    while (n < p.num_drafts[g] && p.drafts[g * p.drafts_stride + n] == p.sampled[p.first_row[g] + n]) ++n;
    p.accepted[g] = n;
  }
}

}  // namespace deepinfer::reference

/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts of fewer users: which visits are left to make until it is known from
 * how many users on more workers pay. What they say is for advise/ to tell.
 */
#ifndef SZ_STUDY_USERS_H
#define SZ_STUDY_USERS_H

#include <stdbool.h>

#include "study/visit.h"

/* The next visit but for its block, or false when none is left: the smallest
 * feasible setting and the recommended one, as sweep->advice has them, with
 * each number of users below the largest. Most users first: if it ends early,
 * the answer holds from those on. Visits that the sweep has are left out. */
bool sz_plan_fewer_users(const struct sz_sweep_config *config, const struct sz_sweep *sweep,
			 struct sz_visit_plan *plan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "study/users.h"

#include "base/mem.h"

static bool was_made(const struct sz_sweep *sweep, size_t setting, unsigned users)
{
	for (size_t i = 0; i < sweep->visit_count; i++) {
		const struct sz_visit *visit = &sweep->visits[i];
		if (visit->purpose == SZ_FOR_USERS && visit->setting == setting &&
		    visit->clients == users * sweep->burst)
			return true;
	}
	return false;
}

bool sz_plan_fewer_users(const struct sz_sweep_config *config, const struct sz_sweep *sweep,
			 struct sz_visit_plan *plan)
{
	const struct sz_advice *advice = &sweep->advice;
	const size_t settings[] = {advice->users.smallest, advice->setting};
	if (config->burst == 0 || !advice->recommended || settings[0] == settings[1])
		return false;
	for (size_t k = config->users.count - 1; k-- > 0;) {
		unsigned users = config->users.value[k];
		for (size_t i = 0; i < SZ_ARRAY_LEN(settings); i++) {
			if (was_made(sweep, settings[i], users))
				continue;
			*plan = (struct sz_visit_plan){.setting = settings[i],
						       .purpose = SZ_FOR_USERS,
						       .users = users};
			return true;
		}
	}
	return false;
}

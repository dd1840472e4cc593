// SPDX-License-Identifier: GPL-2.0-or-later
/* migbatchctl metrics: Prometheus' text format. */
#include <stdio.h>

#include "ctl.h"

int do_metrics(int argc, char **argv)
{
	struct json_object *answer;
	int ret;

	(void)argv;
	if (argc)
		return cmd_usage("metrics");
	ret = client_call(client_request("metrics"), &answer, true);
	if (ret)
		return ret;
	if (ctl_json) {
		p_json(answer);
		return CTL_OK;
	}
	fputs(get_string(answer, "metrics"), stdout);
	json_object_put(answer);
	return CTL_OK;
}

// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "libbpf_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

static char reason[256];

const char *verifier_log__reason(char *text)
{
	char *end = strstr(text, "\nprocessed ");
	if (!end)
		return text;
	*end = '\0';
	char *line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

/* Later messages only say that the step failed; the first one says why. */
static int keep_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;
	if (level != LIBBPF_WARN || vasprintf(&text, format, args) < 0)
		return 0;
	if (strstr(text, "PROG LOAD LOG"))
		snprintf(reason, sizeof(reason), "%.*s: %s", (int)strcspn(text + 8, ":"), text + 8,
			 verifier_log__reason(text));
	else if (!reason[0])
		snprintf(reason, sizeof(reason), "%s", text);
	free(text);
	return 0;
}

void libbpf_log__capture(void)
{
	libbpf_set_print(keep_warning);
}

void libbpf_log__clear(void)
{
	reason[0] = '\0';
}

const char *libbpf_log__reason(void)
{
	return reason;
}

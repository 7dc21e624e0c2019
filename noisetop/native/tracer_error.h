/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_TRACER_ERROR_H
#define NOISETOP_TRACER_ERROR_H

/* The step that failed, and the text of libbpf's first complaint where there is one. */
struct tracer_error {
	const char *step;
	char detail[256];
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* libbpf's messages, of which the one that says why a step failed is kept. */
#ifndef NOISETOP_LIBBPF_LOG_H
#define NOISETOP_LIBBPF_LOG_H

/* From now on libbpf prints nothing and its warnings are kept here. */
void libbpf_log__capture(void);
/* Forgets the message, before a step of which it is going to be asked. */
void libbpf_log__clear(void);
/* The message that says why; empty: there was none. Valid until the next warning. */
const char *libbpf_log__reason(void);
/* The reason in a verifier's log: the line before its statistics. Cuts the text there. */
const char *verifier_log__reason(char *text);

#endif

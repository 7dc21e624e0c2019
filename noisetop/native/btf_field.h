/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_BTF_FIELD_H
#define NOISETOP_BTF_FIELD_H

struct btf;

/*
 * Where a field lies in a struct of that name, in bytes; -1 where there is no such struct or field.
 * Fields of unnamed structs and unions in it count.
 */
long long btf_field_offset(const struct btf *btf, const char *type, const char *field);

#endif

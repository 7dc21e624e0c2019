// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc has no header for these, and libcap is not needed for two system calls. */
int capabilities__set(uint64_t effective, uint64_t permitted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = (uint32_t)effective, .permitted = (uint32_t)permitted},
		{.effective = effective >> 32, .permitted = permitted >> 32},
	};
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

int capabilities__permitted(uint64_t *permitted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	if (syscall(SYS_capget, &header, data))
		return -errno;
	*permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	return 0;
}

void capabilities__give_up(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	capabilities__set(0, 0);
}

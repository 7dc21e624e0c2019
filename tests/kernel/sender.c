// SPDX-License-Identifier: Apache-2.0
/*
 * A thread that spins on one CPU, and the first thread on another one that
 * interrupts it by membarrier, from functions with known names; a process that
 * competes with the spinner. Arguments: CPU of the spinner, CPU of the sender,
 * how often.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 200000
#define KEPT __attribute__((noinline))

static volatile int over;

/* Not libc's, which keeps no frame pointer: the function that calls it would be
 * passed over. */
static inline long membarrier(long command) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long)__NR_membarrier), "D"(command), "S"(0l), "d"(0l)
                   : "rcx", "r11", "memory");
  return result;
#else
  return syscall(__NR_membarrier, command, 0, 0);
#endif
}

static void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set))
    exit(2);
}

KEPT static void spin_here(void) {
  while (!over)
    __asm__ volatile("" ::: "memory");
}

KEPT static void *spinner(void *cpu) {
  prctl(PR_SET_NAME, "spinner");
  bind_to(*(int *)cpu);
  spin_here();
  return NULL;
}

KEPT static void compete_here(void) {
  prctl(PR_SET_NAME, "competitor");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (!over)
    __asm__ volatile("" ::: "memory");
}

KEPT static long send_barriers(int times) {
  const struct timespec pause = {.tv_nsec = PAUSE_NS};
  long failed = 0;
  for (int i = 0; i < times; i++) {
    failed |= membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    nanosleep(&pause, NULL);
  }
  return failed;
}

KEPT static long ask_for_barriers(int times) {
  return send_barriers(times) ? 1 : 0;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  int cpu = atoi(argv[1]);
  pthread_t thread;
  pid_t competitor = fork();
  if (!competitor) {
    bind_to(cpu);
    compete_here();
  }
  bind_to(atoi(argv[2]));
  membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  if (competitor < 0 || pthread_create(&thread, NULL, spinner, &cpu))
    return 2;
  long failed = ask_for_barriers(atoi(argv[3]));
  over = 1;
  pthread_join(thread, NULL);
  kill(competitor, SIGKILL);
  waitpid(competitor, NULL, 0);
  return failed != 0;
}

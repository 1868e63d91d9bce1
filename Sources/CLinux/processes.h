// Additions to Swift's Glibc module for Sources/Kernel/{Files,Sockets,Processes}. No logic lives
// here.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

extern char **environ;
extern int posix_spawn_file_actions_addclosefrom_np(
    posix_spawn_file_actions_t *actions, int from);
extern int prlimit(pid_t pid, int resource, const struct rlimit *new, struct rlimit *old);

/// The environment of this process.
static inline char **clinux_environment(void) { return environ; }

/// open(2) with its third argument. Returns the descriptor; or -1 and errno.
static inline int clinux_open(const char *path, int flags, mode_t mode) {
    return open(path, flags, mode);
}

/// The parts of a siginfo_t that waitid(2) fills in.
struct clinux_wait_result {
    pid_t pid;
    int code;
    int status;
};

/// waitid(2) on a pidfd (P_PIDFD). Returns its result; or -1 and errno.
static inline int clinux_wait(int pidfd, int options, struct clinux_wait_result *result) {
    siginfo_t information = {0};
    int outcome = waitid((idtype_t)3, (id_t)pidfd, &information, options);
    result->pid = information.si_pid;
    result->code = information.si_code;
    result->status = information.si_status;
    return outcome;
}

/// The first and the last of the real-time signals that glibc leaves to programs.
static inline int clinux_first_realtime_signal(void) { return SIGRTMIN; }
static inline int clinux_last_realtime_signal(void) { return SIGRTMAX; }

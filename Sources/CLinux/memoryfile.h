// Files without a name, whose bytes are in memory. No logic lives here.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

// Headers older than Linux 6.3 lack it.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
/// memfd_create(2) of a file that can be sealed; close-on-exec. Returns its descriptor, or -errno.
static inline int clinux_memory_file(const char *name, unsigned moreFlags) {
    long result = syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING | moreFlags);
    return result < 0 ? -errno : (int)result;
}

/// For `clinux_memory_file`: the file can never be executed.
///
/// EINVAL before Linux 6.3.
static inline unsigned clinux_never_executable(void) { return MFD_NOEXEC_SEAL; }

/// fcntl(2), F_ADD_SEALS: from here on neither the file nor its permissions can change.
///
/// Returns 0 or -errno.
static inline int clinux_seal(int fd) {
    // <fcntl.h> shows these with _GNU_SOURCE only (see linux.h).
    const int addSeals = 1033, seal = 1, shrink = 2, grow = 4, write = 8;
    return fcntl(fd, addSeals, seal | shrink | grow | write) < 0 ? -errno : 0;
}

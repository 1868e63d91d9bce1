// The lowest cost of an answer behind a sync: one write and one fdatasync, again and again, with no
// server and no job around them.
#define _GNU_SOURCE
#include "clock.h"
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/// Prewritten space is reused, as that of a log that starts over is.
enum { prewritten_bytes = 4 << 20 };

int measure_synced_writes(
    const char *path, int count, size_t size, int is_prewritten, int64_t *durations) {
    if (size == 0 || size > prewritten_bytes) return -EINVAL;
    int file = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    char *bytes = malloc(prewritten_bytes);
    int result = file < 0 || !bytes ? -errno : 0;
    if (!result) memset(bytes, 'w', prewritten_bytes);
    if (!result && is_prewritten &&
        (pwrite(file, bytes, prewritten_bytes, 0) != prewritten_bytes || fsync(file) != 0))
        result = -EIO;
    off_t offset = 0;
    for (int index = 0; index < count && !result; index++) {
        if (is_prewritten && offset + (off_t)size > prewritten_bytes) offset = 0;
        int64_t start = now();
        if (pwrite(file, bytes, size, offset) != (ssize_t)size || fdatasync(file) != 0)
            result = -EIO;
        durations[index] = now() - start;
        offset += (off_t)size;
    }
    free(bytes);
    if (file >= 0) close(file);
    unlink(path);
    return result;
}

int measure_is_in_memory(const char *directory) {
    struct statfs facts;
    if (statfs(directory, &facts) != 0) return -errno;
    return facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
}

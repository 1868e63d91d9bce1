// A disk that fails on demand, under a whole process: tests compile it and name it in LD_PRELOAD.
//
//     DISK_FAULTS_FILES    paths that begin so are watched
//     DISK_FAULTS_CONTROL  a file with what is to fail now, `EIO write,sync 17 1`: the error (EIO,
//                          ENOSPC, or SHORT for a write of half the bytes and then ENOSPC), the
//                          calls (write, sync, truncate, open, unlink, read, or any), from which
//                          of these calls on (counted from the start of the process), and how many;
//                          0 for all. Empty or not there: nothing fails, and nothing is counted
//     DISK_FAULTS_LOG      gets a line for each watched call: `sync jobs.sqlite-wal`, with the
//                          error behind it if it was made to fail
//     DISK_FAULTS_SYNCED   a directory that has each watched file as its latest sync has left it:
//                          the disk after a power cut that no unsynced write survives
//     DISK_FAULTS_SYNC_MS  how many milliseconds each sync takes at least
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTOR_COUNT = 1024, NAME_SIZE = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char names[DESCRIPTOR_COUNT][NAME_SIZE];
static int call_count;
static int must_fail_next;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static int is_watched_path(const char *path) {
    const char *prefix = getenv("DISK_FAULTS_FILES");
    return prefix != NULL && path != NULL && strncmp(path, prefix, strlen(prefix)) == 0;
}

static int is_watched(int fd) {
    return fd >= 0 && fd < DESCRIPTOR_COUNT && names[fd][0] != 0;
}

// The control file as it is now, by system calls of its own, which are not watched.
static int read_control(char *error, char *calls, int *first, int *count) {
    const char *path = getenv("DISK_FAULTS_CONTROL");
    char text[128] = "";
    int fd = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    return sscanf(text, "%15s %63s %d %d", error, calls, first, count) == 4;
}

static void log_call(const char *call, const char *name, const char *error) {
    static int fd = -1;
    const char *path = getenv("DISK_FAULTS_LOG");
    if (path == NULL) return;
    if (fd < 0) {
        int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    }
    char line[128];
    int length = snprintf(line, sizeof line, "%s %s%s%s\n", call, name, *error ? " " : "", error);
    syscall(SYS_write, fd, line, length);
}

// Counts a call. Returns the error that it must fail with, or 0; -1 to write half.
static int fault_of(const char *call, const char *name) {
    char error[16] = "", calls[64] = "";
    int first = 0, count = 0, result = 0;
    pthread_mutex_lock(&lock);
    int is_meant = read_control(error, calls, &first, &count) &&
                   (strstr(calls, call) != NULL || strcmp(calls, "any") == 0);
    if (is_meant) call_count++;
    if (must_fail_next && strcmp(call, "write") == 0) {
        must_fail_next = 0;
        result = ENOSPC;
        strcpy(error, "ENOSPC");
    } else if (is_meant && call_count >= first && (count == 0 || call_count < first + count)) {
        int is_write = strcmp(call, "write") == 0;
        result = strcmp(error, "EIO") == 0 ? EIO : ENOSPC;
        if (strcmp(error, "SHORT") == 0 && is_write) {
            result = -1;
            must_fail_next = 1;
        }
    }
    log_call(call, name, result == 0 ? "" : error);
    pthread_mutex_unlock(&lock);
    return result;
}

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < DESCRIPTOR_COUNT && is_watched_path(path)) {
        const char *slash = strrchr(path, '/');
        snprintf(names[fd], NAME_SIZE, "%s", slash == NULL ? path : slash + 1);
    }
    return fd;
}

static int may_open(const char *path) {
    if (!is_watched_path(path)) return 1;
    const char *slash = strrchr(path, '/');
    int error = fault_of("open", slash == NULL ? path : slash + 1);
    if (error != 0) errno = error < 0 ? ENOSPC : error;
    return error == 0;
}

#define OPEN(name)                                                 \
    int name(const char *path, int flags, ...) {                   \
        va_list rest;                                              \
        va_start(rest, flags);                                     \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;  \
        va_end(rest);                                              \
        if (!may_open(path)) return -1;                            \
        return opened(REAL(name)(path, flags, mode), path);        \
    }
OPEN(open)
OPEN(open64)

int close(int fd) {
    if (is_watched(fd)) names[fd][0] = 0;
    return REAL(close)(fd);
}

// Returns how many bytes may be written, or -1 with errno.
static ssize_t may_write(int fd, size_t count) {
    if (!is_watched(fd)) return (ssize_t)count;
    int error = fault_of("write", names[fd]);
    if (error == 0) return (ssize_t)count;
    if (error < 0) return (ssize_t)(count + 1) / 2;
    errno = error;
    return -1;
}

#define POSITIONED_WRITE(name)                                             \
    ssize_t name(int fd, const void *bytes, size_t count, off64_t place) { \
        ssize_t allowed = may_write(fd, count);                            \
        return allowed < 0 ? -1 : REAL(name)(fd, bytes, (size_t)allowed, place); \
    }
POSITIONED_WRITE(pwrite)
POSITIONED_WRITE(pwrite64)

ssize_t write(int fd, const void *bytes, size_t count) {
    ssize_t allowed = may_write(fd, count);
    return allowed < 0 ? -1 : REAL(write)(fd, bytes, (size_t)allowed);
}

static int may(const char *call, int fd) {
    if (!is_watched(fd)) return 1;
    int error = fault_of(call, names[fd]);
    if (error != 0) errno = error < 0 ? ENOSPC : error;
    return error == 0;
}

#define READ(name)                                                   \
    ssize_t name(int fd, void *bytes, size_t count, off64_t place) { \
        return may("read", fd) ? REAL(name)(fd, bytes, count, place) : -1; \
    }
READ(pread)
READ(pread64)

// Copies a watched file as it is before its sync, to `path`. Returns whether it did.
static int copy_before_sync(int fd, char *path, size_t size) {
    const char *directory = getenv("DISK_FAULTS_SYNCED");
    if (directory == NULL || !is_watched(fd)) return 0;
    snprintf(path, size, "%s/%s.next", directory, names[fd]);
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    int copy = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    if (copy < 0) return 0;
    char bytes[1 << 16];
    long count, place = 0;
    while ((count = syscall(SYS_pread64, fd, bytes, sizeof bytes, place)) > 0) {
        syscall(SYS_write, copy, bytes, count);
        place += count;
    }
    syscall(SYS_close, copy);
    return 1;
}

static void delay_sync(int fd) {
    const char *milliseconds = getenv("DISK_FAULTS_SYNC_MS");
    if (milliseconds == NULL || !is_watched(fd)) return;
    struct timespec pause = {0, atol(milliseconds) * 1000000};
    nanosleep(&pause, NULL);
}

static int synced(int fd, int (*sync)(int)) {
    char next[512], path[512];
    if (!may("sync", fd)) return -1;
    delay_sync(fd);
    int is_copied = copy_before_sync(fd, next, sizeof next);
    int result = sync(fd);
    if (is_copied && result == 0) {
        snprintf(path, sizeof path, "%.*s", (int)(strlen(next) - strlen(".next")), next);
        rename(next, path);
    }
    return result;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

#define TRUNCATE(name) \
    int name(int fd, off64_t size) { return may("truncate", fd) ? REAL(name)(fd, size) : -1; }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int unlink(const char *path) {
    if (is_watched_path(path)) {
        const char *slash = strrchr(path, '/');
        int error = fault_of("unlink", slash == NULL ? path : slash + 1);
        if (error != 0) {
            errno = error < 0 ? ENOSPC : error;
            return -1;
        }
    }
    return REAL(unlink)(path);
}

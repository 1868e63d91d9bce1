// The lowest cost of a server that syncs its input before it answers: one thread, no parsing, no
// memory of the input. The difference to a real server is the real server's own.
#define _GNU_SOURCE
#include "jobintake.h"
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { file_bytes = 8 << 20 };

struct server {
    struct intake intake;
    struct batch batch;
    int file;
    off_t offset;
};

static int open_prewritten(const char *path, char *bytes) {
    int file = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return -errno;
    memset(bytes, 'w', batch_bytes);
    for (off_t offset = 0; offset < file_bytes; offset += batch_bytes)
        if (pwrite(file, bytes, batch_bytes, offset) != batch_bytes) return -EIO;
    return fsync(file) == 0 ? file : -EIO;
}

static int commit(struct server *server) {
    size_t filled = server->batch.filled;
    if (filled == 0) return 0;
    if (server->offset + (off_t)filled > file_bytes) server->offset = 0;
    if (pwrite(server->file, server->batch.bytes, filled, server->offset) != (ssize_t)filled)
        return -EIO;
    server->offset += (off_t)filled;
    server->batch.filled = 0;
    return fdatasync(server->file) == 0 ? 0 : -errno;
}

static int serve(struct server *server) {
    while (1) {
        int result = intake_wait(&server->intake, &server->batch, -1);
        if (result == 0) result = commit(server);
        if (result != 0) return result;
        intake_answer(&server->intake, &server->batch);
    }
}

int measure_serve_synced(const char *socket_path, const char *file_path, size_t job_size) {
    struct server *server = calloc(1, sizeof *server);
    if (!server || job_size == 0) return -EINVAL;
    int result = batch_make(&server->batch);
    if (result == 0) result = server->file = open_prewritten(file_path, server->batch.bytes);
    if (result >= 0) result = intake_open(&server->intake, socket_path, job_size);
    return result < 0 ? result : serve(server);
}

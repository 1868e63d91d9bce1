// The common part of the least servers: jobs that come at a Unix socket, counted and not parsed,
// and a line for each when it is on the disk.
#pragma once

#include <stddef.h>

enum {
    batch_bytes = 1 << 20,
    connections_max = 1024,
};

/// Jobs that are written together, and the connections that wait for them.
struct batch {
    char *bytes;
    size_t filled;
    int job_count;
    int senders[connections_max];
    int sender_count;
    int jobs[connections_max];  // of each connection
};

struct intake {
    size_t job_size;
    int poll;
    int listener;
    char *answers;
    struct {
        size_t arrived;  // bytes of an incomplete job or greeting
        int is_greeted;
    } connections[connections_max];
};

/// Returns 0 or -errno.
int batch_make(struct batch *batch);

/// Listens at a path. Returns 0 or -errno.
int intake_open(struct intake *intake, const char *socket_path, size_t job_size);

/// Waits for input, and takes it: jobs into the batch, and connections.
///
/// Returns 1 if `other`, a descriptor of the caller's that `poll` watches, or -1, has input too;
/// else 0, or -errno.
int intake_wait(struct intake *intake, struct batch *batch, int other);

/// Answers all jobs of a batch, which is empty then.
void intake_answer(struct intake *intake, struct batch *batch);

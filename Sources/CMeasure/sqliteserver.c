// The lowest cost of a server that stores its jobs as workerd does: one thread that serves, and a
// second one that writes the arrived jobs with SQLite, in one transaction, into a table and rows
// like workerd's (Sources/SQLiteJobs/File/Schema.swift). The difference to workerd is workerd's
// own.
#define _GNU_SOURCE
#include "gatheredlog.h"
#include "jobintake.h"
#include "measure.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    record_bytes = 84,  // as many as workerd writes for a job of 64 bytes
    records_max = 64,   // in a row
};

static const char setup[] =
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
    "CREATE TABLE packs (last_id INTEGER NOT NULL PRIMARY KEY, first_id BIGINT NOT NULL,"
    " kept BLOB NOT NULL, thread TEXT NOT NULL, priority INTEGER NOT NULL, records BLOB NOT NULL);"
    "CREATE INDEX packs_in_turn ON packs (thread, priority)";

static const char insertion[] =
    "INSERT INTO packs (last_id, first_id, kept, thread, priority, records)"
    " VALUES (?, ?, ?, 'store', 1, ?)";

struct server {
    struct intake intake;
    struct batch batches[2];
    struct batch *arriving;
    struct batch *written;
    int is_writing;
    // The fields of the second thread:
    sem_t handed;
    int done;
    sqlite3 *database;
    sqlite3_stmt *begin, *insert, *commit;
    int64_t last_id;
};

static int open_database(struct server *server, const char *path) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int is_open =
        sqlite3_open_v2(path, &server->database, flags, gathered_log_vfs()) == SQLITE_OK
        && sqlite3_exec(server->database, setup, NULL, NULL, NULL) == SQLITE_OK
        && sqlite3_prepare_v2(server->database, "BEGIN IMMEDIATE", -1, &server->begin, NULL) == 0
        && sqlite3_prepare_v2(server->database, insertion, -1, &server->insert, NULL) == 0
        && sqlite3_prepare_v2(server->database, "COMMIT", -1, &server->commit, NULL) == 0;
    return is_open ? 0 : -EIO;
}

static int run(sqlite3_stmt *statement) {
    sqlite3_step(statement);
    return sqlite3_reset(statement);
}

static int write_row(struct server *server, const char *bytes, int count) {
    uint64_t kept = ~0ull >> (64 - count);
    sqlite3_bind_int64(server->insert, 1, server->last_id + count);
    sqlite3_bind_int64(server->insert, 2, server->last_id + 1);
    sqlite3_bind_blob(server->insert, 3, &kept, sizeof kept, SQLITE_STATIC);
    sqlite3_bind_blob(server->insert, 4, bytes, count * record_bytes, SQLITE_STATIC);
    server->last_id += count;
    return run(server->insert);
}

static int write_batch(struct server *server, const struct batch *batch) {
    int result = run(server->begin);
    for (int start = 0; start < batch->job_count && result == SQLITE_OK; start += records_max) {
        int left = batch->job_count - start;
        result = write_row(
            server, batch->bytes + start * record_bytes, left < records_max ? left : records_max);
    }
    return result == SQLITE_OK ? run(server->commit) : result;
}

static void *write_batches(void *context) {
    struct server *server = context;
    while (1) {
        while (sem_wait(&server->handed) != 0) {}
        uint64_t one = 1;
        // No job is answered any more, which the client takes for an end.
        if (write_batch(server, server->written) != SQLITE_OK
            || write(server->done, &one, sizeof one) < 0) exit(1);
    }
}

static int answer_written(struct server *server) {
    uint64_t count;
    if (read(server->done, &count, sizeof count) < 0) return -errno;
    intake_answer(&server->intake, server->written);
    server->is_writing = 0;
    return 0;
}

static void hand_over(struct server *server) {
    if (server->is_writing || server->arriving->job_count == 0) return;
    struct batch *arrived = server->arriving;
    server->arriving = server->written;
    server->written = arrived;
    server->is_writing = 1;
    sem_post(&server->handed);
}

static int serve(struct server *server) {
    while (1) {
        int result = intake_wait(&server->intake, server->arriving, server->done);
        if (result == 1) result = answer_written(server);
        if (result != 0) return result;
        hand_over(server);
    }
}

static int start(struct server *server) {
    server->arriving = &server->batches[0];
    server->written = &server->batches[1];
    server->done = eventfd(0, EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = server->done};
    if (server->done < 0 || sem_init(&server->handed, 0, 0) != 0
        || epoll_ctl(server->intake.poll, EPOLL_CTL_ADD, server->done, &event) != 0) return -errno;
    pthread_t thread;
    return -pthread_create(&thread, NULL, write_batches, server);
}

int measure_serve_with_sqlite(const char *socket_path, const char *file_path, size_t job_size) {
    struct server *server = calloc(1, sizeof *server);
    if (!server || job_size < record_bytes) return -EINVAL;
    int result = batch_make(&server->batches[0]);
    if (result == 0) result = batch_make(&server->batches[1]);
    if (result == 0) result = open_database(server, file_path);
    if (result == 0) result = intake_open(&server->intake, socket_path, job_size);
    if (result == 0) result = start(server);
    return result < 0 ? result : serve(server);
}

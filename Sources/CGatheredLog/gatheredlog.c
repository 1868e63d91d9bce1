// The VFS: the log's file has methods of its own, any other file those of the default VFS.
#include "gatheredlog.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
    room_bytes = 64 << 10,
    // https://www.sqlite.org/fileformat2.html#the_write_ahead_log: a header precedes each page. Its
    // second number is not zero if the page is the last of its transaction.
    frame_header_bytes = 24,
    commit_offset = 4,
    commit_bytes = 4,
};

struct log {
    sqlite3_file base;
    int is_ending;  // whether the latest header is that of the last page
    int filled;
    sqlite3_int64 offset;
    char *room;
    // The default VFS's file follows.
};

static const char name[] = "gathered-log";

static sqlite3_file *real(sqlite3_file *file) { return (sqlite3_file *)((struct log *)file + 1); }

/// Writes the gathered bytes. If that fails they are dropped: SQLite gets the error from whichever
/// call this is, and undoes the transaction.
static int flush(sqlite3_file *file) {
    struct log *log = (struct log *)file;
    int count = log->filled;
    if (count == 0) return SQLITE_OK;
    log->filled = log->is_ending = 0;
    return real(file)->pMethods->xWrite(real(file), log->room, count, log->offset);
}

static int log_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    struct log *log = (struct log *)file;
    int is_next = log->filled > 0 && offset == log->offset + log->filled;
    if (!is_next || log->filled + count > room_bytes) {
        int code = flush(file);
        if (code != SQLITE_OK) return code;
        // A page follows its header: these bytes belong to no frame.
        if (count != frame_header_bytes)
            return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
        log->offset = offset;
    }
    memcpy(log->room + log->filled, bytes, (size_t)count);
    log->filled += count;
    if (count != frame_header_bytes) return log->is_ending ? flush(file) : SQLITE_OK;
    static const char none[commit_bytes];
    log->is_ending = memcmp((const char *)bytes + commit_offset, none, commit_bytes) != 0;
    return SQLITE_OK;
}

static int log_close(sqlite3_file *file) {
    int code = flush(file);
    int closing = real(file)->pMethods->xClose(real(file));
    free(((struct log *)file)->room);
    return code != SQLITE_OK ? code : closing;
}

static int log_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    int code = flush(file);
    return code != SQLITE_OK ? code : real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int code = flush(file);
    return code != SQLITE_OK ? code : real(file)->pMethods->xTruncate(real(file), size);
}

static int log_sync(sqlite3_file *file, int flags) {
    int code = flush(file);
    return code != SQLITE_OK ? code : real(file)->pMethods->xSync(real(file), flags);
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
    int code = flush(file);
    return code != SQLITE_OK ? code : real(file)->pMethods->xFileSize(real(file), size);
}

static int log_lock(sqlite3_file *file, int level) {
    return real(file)->pMethods->xLock(real(file), level);
}
static int log_unlock(sqlite3_file *file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}
static int log_is_reserved(sqlite3_file *file, int *result) {
    return real(file)->pMethods->xCheckReservedLock(real(file), result);
}
static int log_control(sqlite3_file *file, int code, void *value) {
    return real(file)->pMethods->xFileControl(real(file), code, value);
}
static int log_sector_size(sqlite3_file *file) {
    return real(file)->pMethods->xSectorSize(real(file));
}
static int log_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

// Version 1 is without shared memory, which belongs to the database's file.
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_is_reserved,
    .xFileControl = log_control,
    .xSectorSize = log_sector_size,
    .xDeviceCharacteristics = log_characteristics,
};

struct layer {
    sqlite3_vfs vfs;
    sqlite3_vfs *below;
};

static int layer_open(
    sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags, int *given) {
    sqlite3_vfs *below = ((struct layer *)self)->below;
    if (!(flags & SQLITE_OPEN_WAL)) return below->xOpen(below, path, file, flags, given);
    struct log *log = (struct log *)file;
    *log = (struct log){.room = malloc(room_bytes)};
    if (log->room == NULL) return SQLITE_NOMEM;
    int code = below->xOpen(below, path, real(file), flags, given);
    // A file with methods will be closed, even if it could not be opened.
    if (real(file)->pMethods != NULL) log->base.pMethods = &methods;
    else free(log->room);
    return code;
}

const char *gathered_log_vfs(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct layer *layer;
    if (sqlite3_initialize() != SQLITE_OK) return NULL;
    pthread_mutex_lock(&lock);
    sqlite3_vfs *below = sqlite3_vfs_find(NULL);
    // The old layer stays: open files may need it.
    if (layer == NULL || layer->below != below) {
        struct layer *new = malloc(sizeof *new);
        if (new != NULL) {
            *new = (struct layer){.vfs = *below, .below = below};
            new->vfs.zName = name;
            new->vfs.pNext = NULL;
            new->vfs.szOsFile += (int)sizeof(struct log);
            new->vfs.xOpen = layer_open;
            sqlite3_vfs_register(&new->vfs, 0);
        }
        layer = new;
    }
    const char *found = layer != NULL ? name : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

// The VFS: each call is counted, recorded, and handed to the real one unless it is to fail.
#include "faults.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { DISK_COUNT = 64, PREFIX_SIZE = 512 };

struct record {
    struct faults_event event;
    uint8_t *bytes;
};

struct disk {
    int is_used;
    char prefix[PREFIX_SIZE];
    uint32_t calls;
    int number, count, kind;
    int seen, given;
    int is_recording;
    struct record *records;
    int record_count, record_room;
};

struct file {
    sqlite3_file base;
    struct disk *disk;
    int which;
    // Behind it lies the real one.
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct disk disks[DISK_COUNT];
static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;

static sqlite3_file *real(sqlite3_file *file) {
    return (sqlite3_file *)((struct file *)file + 1);
}

static struct disk *disk_of(const char *path) {
    if (path == NULL) return NULL;
    struct disk *found = NULL;
    pthread_mutex_lock(&lock);
    for (int index = 0; index < DISK_COUNT && found == NULL; index++) {
        struct disk *disk = &disks[index];
        if (disk->is_used && strncmp(path, disk->prefix, strlen(disk->prefix)) == 0) found = disk;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static int ends_with(const char *path, const char *suffix) {
    size_t length = strlen(path), size = strlen(suffix);
    return length >= size && strcmp(path + length - size, suffix) == 0;
}

static int which_file(const char *path) {
    return ends_with(path, "-wal") ? 1 : ends_with(path, "-journal") ? 2 : 0;
}

// Counts a call. Returns how it fails.
static int fault_of(struct disk *disk, uint32_t call) {
    int kind = FAULTS_NONE;
    pthread_mutex_lock(&lock);
    if (disk->calls & call) {
        disk->seen++;
        int is_reached = disk->kind != FAULTS_NONE && disk->seen >= disk->number;
        if (is_reached && (disk->count == 0 || disk->seen < disk->number + disk->count)) {
            disk->given++;
            kind = disk->kind;
        }
    }
    pthread_mutex_unlock(&lock);
    return kind;
}

static void note(
    struct disk *disk, int call, int file, int has_failed, int64_t offset, int64_t size,
    const void *bytes) {
    pthread_mutex_lock(&lock);
    if (disk->is_recording) {
        if (disk->record_count == disk->record_room) {
            disk->record_room = disk->record_room ? disk->record_room * 2 : 256;
            disk->records =
                realloc(disk->records, (size_t)disk->record_room * sizeof *disk->records);
            if (disk->records == NULL) abort();
        }
        struct record *record = &disk->records[disk->record_count++];
        *record = (struct record){{call, file, has_failed, offset, size}, NULL};
        if (bytes != NULL) {
            record->bytes = malloc(size > 0 ? (size_t)size : 1);
            if (record->bytes == NULL) abort();
            memcpy(record->bytes, bytes, (size_t)size);
        }
    }
    pthread_mutex_unlock(&lock);
}

static int file_close(sqlite3_file *file) { return real(file)->pMethods->xClose(real(file)); }

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    struct disk *disk = ((struct file *)file)->disk;
    if (fault_of(disk, FAULTS_READ) != FAULTS_NONE) return SQLITE_IOERR_READ;
    return real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int file_write(sqlite3_file *base, const void *bytes, int count, sqlite3_int64 offset) {
    struct file *file = (struct file *)base;
    int kind = fault_of(file->disk, FAULTS_WRITE);
    int is_short = kind == FAULTS_SHORT_ERROR || kind == FAULTS_SHORT_FULL;
    int wanted = kind == FAULTS_NONE ? count : is_short ? count / 2 : 0;
    if (wanted > 0) {
        int code = real(base)->pMethods->xWrite(real(base), bytes, wanted, offset);
        if (code != SQLITE_OK) return code;
        note(file->disk, FAULTS_WRITE, file->which, wanted < count, offset, wanted, bytes);
    }
    switch (kind) {
        case FAULTS_NONE: return SQLITE_OK;
        case FAULTS_FULL:
        case FAULTS_SHORT_FULL: return SQLITE_FULL;
        default: return SQLITE_IOERR_WRITE;
    }
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
    struct file *file = (struct file *)base;
    if (fault_of(file->disk, FAULTS_TRUNCATE) != FAULTS_NONE) return SQLITE_IOERR_TRUNCATE;
    note(file->disk, FAULTS_TRUNCATE, file->which, 0, 0, size, NULL);
    return real(base)->pMethods->xTruncate(real(base), size);
}

static int file_sync(sqlite3_file *base, int flags) {
    struct file *file = (struct file *)base;
    int has_failed = fault_of(file->disk, FAULTS_SYNC) != FAULTS_NONE;
    note(file->disk, FAULTS_SYNC, file->which, has_failed, 0, 0, NULL);
    if (has_failed) return SQLITE_IOERR_FSYNC;
    return real(base)->pMethods->xSync(real(base), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real(file)->pMethods->xFileSize(real(file), size);
}
static int file_lock(sqlite3_file *file, int level) {
    return real(file)->pMethods->xLock(real(file), level);
}
static int file_unlock(sqlite3_file *file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}
static int file_is_reserved(sqlite3_file *file, int *result) {
    return real(file)->pMethods->xCheckReservedLock(real(file), result);
}
static int file_control(sqlite3_file *file, int code, void *value) {
    return real(file)->pMethods->xFileControl(real(file), code, value);
}
static int file_sector_size(sqlite3_file *file) {
    return real(file)->pMethods->xSectorSize(real(file));
}
static int file_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

// Version 1 has no shared memory: the store is the only user of its file and needs none.
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
};

static int vfs_open(
    sqlite3_vfs *self, const char *path, sqlite3_file *base, int flags, int *given) {
    (void)self;
    struct disk *disk = disk_of(path);
    if (disk == NULL) return real_vfs->xOpen(real_vfs, path, base, flags, given);
    base->pMethods = NULL;
    if (fault_of(disk, FAULTS_OPEN) != FAULTS_NONE) return SQLITE_CANTOPEN;
    int code = real_vfs->xOpen(real_vfs, path, real(base), flags, given);
    struct file *file = (struct file *)base;
    file->disk = disk;
    file->which = which_file(path);
    if (real(base)->pMethods != NULL) file->base.pMethods = &methods;
    return code;
}

static int vfs_delete(sqlite3_vfs *self, const char *path, int is_synced) {
    (void)self;
    struct disk *disk = disk_of(path);
    if (disk != NULL) {
        if (fault_of(disk, FAULTS_DELETE) != FAULTS_NONE) return SQLITE_IOERR_DELETE;
        note(disk, FAULTS_DELETE, which_file(path), 0, 0, 0, NULL);
    }
    return real_vfs->xDelete(real_vfs, path, is_synced);
}

int faults_install(void) {
    int code = sqlite3_initialize();
    if (code != SQLITE_OK) return code;
    pthread_mutex_lock(&lock);
    if (real_vfs == NULL) {
        real_vfs = sqlite3_vfs_find(NULL);
        vfs = *real_vfs;
        vfs.zName = "faults";
        vfs.pNext = NULL;
        vfs.szOsFile += (int)sizeof(struct file);
        vfs.xOpen = vfs_open;
        vfs.xDelete = vfs_delete;
        code = sqlite3_vfs_register(&vfs, 1);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

int faults_watch(const char *prefix) {
    int found = -1;
    pthread_mutex_lock(&lock);
    for (int index = 0; index < DISK_COUNT && found < 0; index++) {
        if (!disks[index].is_used) found = index;
    }
    if (found >= 0 && strlen(prefix) < PREFIX_SIZE) {
        disks[found] = (struct disk){.is_used = 1};
        strcpy(disks[found].prefix, prefix);
    } else {
        found = -1;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void faults_forget(int disk) {
    pthread_mutex_lock(&lock);
    for (int index = 0; index < disks[disk].record_count; index++)
        free(disks[disk].records[index].bytes);
    free(disks[disk].records);
    disks[disk] = (struct disk){0};
    pthread_mutex_unlock(&lock);
}

void faults_arm(int disk, uint32_t calls, int number, int count, int kind) {
    pthread_mutex_lock(&lock);
    disks[disk].calls = calls;
    disks[disk].number = number;
    disks[disk].count = count;
    disks[disk].kind = kind;
    disks[disk].seen = 0;
    disks[disk].given = 0;
    pthread_mutex_unlock(&lock);
}

static int under_lock(const int *value) {
    pthread_mutex_lock(&lock);
    int result = *value;
    pthread_mutex_unlock(&lock);
    return result;
}

int faults_calls(int disk) { return under_lock(&disks[disk].seen); }
int faults_given(int disk) { return under_lock(&disks[disk].given); }
int faults_event_count(int disk) { return under_lock(&disks[disk].record_count); }

void faults_record(int disk) {
    pthread_mutex_lock(&lock);
    disks[disk].is_recording = 1;
    pthread_mutex_unlock(&lock);
}

struct faults_event faults_event_at(int disk, int index) {
    pthread_mutex_lock(&lock);
    struct faults_event event = disks[disk].records[index].event;
    pthread_mutex_unlock(&lock);
    return event;
}

void faults_event_bytes(int disk, int index, uint8_t *to) {
    pthread_mutex_lock(&lock);
    struct record *record = &disks[disk].records[index];
    if (record->bytes != NULL) memcpy(to, record->bytes, (size_t)record->event.size);
    pthread_mutex_unlock(&lock);
}

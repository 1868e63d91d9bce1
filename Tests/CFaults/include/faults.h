// A disk that fails on demand, between SQLite and the real one: a VFS that is SQLite's default once
// it is installed. Files of no watched disk go straight to the real VFS. Linked into tests only.
#pragma once

#include <stdint.h>

/// The calls that can fail, as bits.
enum {
    FAULTS_WRITE = 1,
    FAULTS_TRUNCATE = 2,
    FAULTS_SYNC = 4,
    FAULTS_OPEN = 8,
    FAULTS_DELETE = 16,
    FAULTS_READ = 32,
};

/// How they fail: with an error, with a disk that is full, or after half of the bytes were written.
enum {
    FAULTS_NONE = 0,
    FAULTS_ERROR = 1,
    FAULTS_FULL = 2,
    FAULTS_SHORT_ERROR = 3,
    FAULTS_SHORT_FULL = 4,
};

/// Makes the VFS SQLite's default, once. Returns SQLite's result code.
int faults_install(void);

/// Watches the files whose paths begin so. Returns the disk's number, or -1 if there are too many.
int faults_watch(const char *prefix);

/// Lets go of a disk, of which no file is open any more.
void faults_forget(int disk);

/// From now on counts these calls, from 1, and lets those from `number` on fail: `count` of them,
/// or all that follow if it is 0.
void faults_arm(int disk, uint32_t calls, int number, int count, int kind);

/// How many calls were counted since, and how many of them have failed.
int faults_calls(int disk);
int faults_given(int disk);

/// A call on a file: 0 the database, 1 its log, 2 its journal. Of a write, `size` bytes at
/// `offset`; of a truncation, the new size.
struct faults_event {
    int call;
    int file;
    int has_failed;
    int64_t offset;
    int64_t size;
};

/// Records writes, truncations, syncs and deletions from now on.
void faults_record(int disk);
int faults_event_count(int disk);
struct faults_event faults_event_at(int disk, int index);

/// Copies the bytes that an event has written.
void faults_event_bytes(int disk, int index, uint8_t *to);

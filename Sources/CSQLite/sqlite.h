// SQLite, in which durable jobs are kept (Debian's libsqlite3-dev).
#pragma once
#include <sqlite3.h>

/// sqlite3_db_config(3), which is variadic: sets a switch of a connection. Returns a result code.
static inline int csqlite_set(sqlite3 *handle, int option, int isOn) {
    return sqlite3_db_config(handle, option, isOn, (int *)0);
}

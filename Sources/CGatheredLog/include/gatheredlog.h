// A VFS of SQLite that writes the pages of a transaction to the write-ahead log in one call.
//
// SQLite writes the header of each frame and its page in two calls, so that a transaction with one
// new row takes six and more. This VFS keeps them in memory up to the last frame of the
// transaction. The write of that frame returns when all are with the kernel, or with the error. All
// other files, and all other calls, are the default VFS's.
#pragma once

/// Registers the VFS over the present default VFS.
///
/// Returns its name for sqlite3_open_v2; NULL, the name of the default VFS, if there is no memory.
/// Any thread may call.
const char *gathered_log_vfs(void);

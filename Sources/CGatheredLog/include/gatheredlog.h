// A VFS of SQLite that writes a transaction's addition to the write-ahead log in one go.
//
// SQLite gives the header of each frame and its page to a write of its own, so that one row takes
// four system calls or more. Here they wait in memory until the frame that ends the transaction.
// Its write returns when all are with the kernel, or reports why they are not. All other files, and
// all other calls, are the default VFS's.
#pragma once

/// Registers the VFS, on top of the present default VFS.
///
/// Returns its name for sqlite3_open_v2; NULL if there is no memory. Any thread may call it.
const char *gathered_log_vfs(void);

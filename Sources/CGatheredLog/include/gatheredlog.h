// A VFS of SQLite that writes what one transaction adds to the write-ahead log in one go.
//
// SQLite gives the header of each frame and its page to a write of its own, so that one row takes four
// system calls or more. Here they wait in memory until the frame that ends the transaction; its write
// returns when all are with the kernel, or tells why they are not. All other files, and all other
// calls, are the default VFS's.
#pragma once

/// Makes the VFS known, over what is SQLite's default VFS at present.
///
/// Returns its name for sqlite3_open_v2; NULL if there is no memory. Any thread may call.
const char *gathered_log_vfs(void);

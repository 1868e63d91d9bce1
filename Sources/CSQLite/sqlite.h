// SQLite, in which durable jobs are kept (Debian's libsqlite3-dev).
#pragma once
#include <sqlite3.h>

// The client of PostgreSQL, in whose tables durable jobs can be kept (Debian's libpq-dev).
#pragma once
#include <postgresql/libpq-fe.h>

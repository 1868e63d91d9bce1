// The allocator of this package's programs: Debian's libmimalloc-dev, which puts its own malloc and
// free in the place of glibc's. To build without it: WORKERD_MALLOC=system swift build.
#pragma once

#include <mimalloc.h>

// Additions to Swift's Glibc module: terminals. ioctl(2) is variadic. No logic lives here.
#pragma once

#include <errno.h>
#include <sys/ioctl.h>

/// ioctl(2), TIOCGWINSZ: the size of a terminal. Returns 0 or -errno.
static inline int clinux_terminal_size(int number, unsigned short *rows, unsigned short *columns) {
    struct winsize size;
    if (ioctl(number, TIOCGWINSZ, &size) < 0) return -errno;
    *rows = size.ws_row;
    *columns = size.ws_col;
    return 0;
}

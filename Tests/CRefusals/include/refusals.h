// A kernel that refuses a call, as under the filters of container runtimes. Linked into tests only.
#pragma once

/// The number of epoll_pwait2(2).
int refusals_epoll_pwait2(void);

/// The number of futex(2).
int refusals_futex(void);

/// Lets each call of that number fail with `error` from now on, for the calling thread and the
/// threads that it starts. Returns 0 or -errno.
int refusals_refuse(int call, int error);

// A machine whose wall clock is ahead, for one process: tests compile it and name it in LD_PRELOAD.
//
//     CLOCK_AHEAD    by how many seconds
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>

static time_t ahead(void) {
    const char *seconds = getenv("CLOCK_AHEAD");
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += ahead();
    return result;
}

int timerfd_settime(
    int timer, int flags, const struct itimerspec *setting, struct itimerspec *before) {
    static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
    if (!real) real = (__typeof__(real))dlsym(RTLD_NEXT, "timerfd_settime");
    struct itimerspec meant = *setting;
    // Only alarms on the wall clock have this flag.
    if (flags & TFD_TIMER_CANCEL_ON_SET && meant.it_value.tv_sec > ahead())
        meant.it_value.tv_sec -= ahead();
    return real(timer, flags, &meant, before);
}

// Timers as descriptors.
#pragma once

#include <sys/timerfd.h>

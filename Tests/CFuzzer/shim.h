// The driver of libFuzzer (https://llvm.org/docs/LibFuzzer.html), for a program with a main
// function of its own.

#pragma once

#include <stddef.h>
#include <stdint.h>

/// Calls `read` with bytes until one of them breaks it, as the arguments say.
int LLVMFuzzerRunDriver(
    int *_Nonnull argumentCount, char *_Nullable *_Nonnull *_Nonnull arguments,
    int (*_Nonnull read)(const uint8_t *_Nullable bytes, size_t count));

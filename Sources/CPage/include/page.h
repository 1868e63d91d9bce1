// The files of the page, embedded in the library: HTML, style sheets and modules of JavaScript.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// A file of the page.
struct page_asset {
    /// Its path on the server, such as `/main.js`.
    const char *path;
    /// Its kind, as a response names it.
    const char *content_type;
    const uint8_t *bytes;
    size_t byte_count;
};

/// How many files there are.
size_t page_asset_count(void);

/// The file of an index below `page_asset_count()`.
struct page_asset page_asset_at(size_t index);

// OpenSSL's digests (Debian's libssl-dev).
#pragma once
#include <openssl/evp.h>
#include <openssl/crypto.h>

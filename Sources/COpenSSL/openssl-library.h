// OpenSSL (Debian's libssl-dev), with its macros as functions, which Swift can't import otherwise.
#pragma once

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

/// SSL_CTX_set_min_proto_version(3).
static inline int copenssl_set_oldest_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}

/// The modes of a non-blocking socket (SSL_CTX_set_mode(3)): a write may take a part, and goes on
/// from another address; a read returns once the buffer is empty; idle connections hold no buffers.
static inline void copenssl_set_modes(SSL_CTX *context) {
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                     SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
}

/// No renegotiation, no compression; an end without close_notify is an end
/// (SSL_CTX_set_options(3)).
static inline void copenssl_set_options(SSL_CTX *context) {
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                     SSL_OP_IGNORE_UNEXPECTED_EOF);
}

/// One read(2) may take several records (SSL_CTX_set_read_ahead(3)).
static inline void copenssl_read_ahead(SSL_CTX *context) { SSL_CTX_set_read_ahead(context, 1); }

/// The server keeps no sessions: tickets hold them (SSL_CTX_set_session_cache_mode(3)).
static inline void copenssl_keep_no_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

/// SSL_CTX_add1_chain_cert(3).
static inline int copenssl_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}

/// SSL_set_tlsext_host_name(3).
static inline int copenssl_set_server_name(SSL *connection, const char *name) {
    return (int)SSL_set_tlsext_host_name(connection, name);
}

/// Writes to a socket as BIO_s_socket(3) does, but without SIGPIPE.
static inline int copenssl_send(BIO *bio, const char *bytes, int count) {
    int number = -1;
    BIO_get_fd(bio, &number);
    ssize_t sent = send(number, bytes, (size_t)count, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (sent <= 0 && BIO_sock_should_retry((int)sent)) BIO_set_retry_write(bio);
    return (int)sent;
}

/// The kind of BIO that SSL_set_fd(3) makes, but one that sends without SIGPIPE; NULL without
/// memory.
static inline BIO_METHOD *copenssl_make_socket_method(void) {
    const BIO_METHOD *usual = BIO_s_socket();
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOCKET, "socket");
    if (!method) return method;
    BIO_meth_set_write(method, copenssl_send);
    BIO_meth_set_read(method, BIO_meth_get_read(usual));
    BIO_meth_set_puts(method, BIO_meth_get_puts(usual));
    BIO_meth_set_ctrl(method, BIO_meth_get_ctrl(usual));
    BIO_meth_set_create(method, BIO_meth_get_create(usual));
    BIO_meth_set_destroy(method, BIO_meth_get_destroy(usual));
    return method;
}

/// Gives a connection its socket, which it does not close (SSL_set_fd(3)). Returns 1, or 0.
static inline int copenssl_set_socket(SSL *connection, const BIO_METHOD *method, int number) {
    BIO *bio = BIO_new(method);
    if (!bio) return 0;
    BIO_set_fd(bio, number, BIO_NOCLOSE);
    SSL_set_bio(connection, bio, bio);
    return 1;
}

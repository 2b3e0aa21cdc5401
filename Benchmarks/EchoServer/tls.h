// TLS over a socket that does not block.

#ifndef ECHO_SERVER_TLS_H
#define ECHO_SERVER_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// As OpenSSL declares them, because a build without it has no headers of it.
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_st SSL;

/// Makes a key and a certificate for the loopback, which is written to the file, too; NULL when that fails.
SSL_CTX *tls_open(const char *path);
SSL *tls_accept(SSL_CTX *context, int fd);
/// As `recv` and `send`. A read that fills its place may leave more in the session than the socket tells of.
ssize_t tls_read(SSL *tls, void *bytes, size_t size);
ssize_t tls_write(SSL *tls, const void *bytes, size_t count);
void tls_free(SSL *tls);

#endif

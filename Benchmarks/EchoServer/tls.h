// TLS over a socket that does not block.

#ifndef ECHO_SERVER_TLS_H
#define ECHO_SERVER_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/// Makes a key and a certificate for the loopback, which is written to the file, too; NULL when that fails.
SSL_CTX *tls_open(const char *path);
SSL *tls_accept(SSL_CTX *context, int fd);
/// As `recv` and `send`. A read that fills its place may leave more in the session than the socket tells of.
ssize_t tls_read(SSL *tls, void *bytes, size_t size);
ssize_t tls_write(SSL *tls, const void *bytes, size_t count);

#endif

// TLS over a socket that does not block.

#ifndef ECHO_SERVER_TLS_H
#define ECHO_SERVER_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/// TLS over sockets that were accepted, and over one. A build without OpenSSL has neither.
struct tls_context;
struct tls;

/// Makes a key and a certificate for the loopback, which is written to the file, too; NULL when that fails.
struct tls_context *tls_open(const char *path);
struct tls *tls_accept(struct tls_context *context, int fd);
/// As `recv` and `send`. A read that fills its place may leave more in the session than the socket tells of.
ssize_t tls_read(struct tls *tls, void *bytes, size_t size);
ssize_t tls_write(struct tls *tls, const void *bytes, size_t count);
void tls_free(struct tls *tls);

#endif

// Streams: their sockets and TLS sessions, taken over from libwebsockets once it has written the request, because its loop
// looks at each descriptor in each turn, because it keeps 16 KiB for each connection, and because it misreads answers.
#ifndef CLIBWEBSOCKETS_SOCKET_H
#define CLIBWEBSOCKETS_SOCKET_H

#include <libwebsockets.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

// What came of reading or writing.
enum __attribute__((enum_extensibility(closed))) clws_outcome {
  clws_outcome_done,         // all that was asked for; there may be more
  clws_outcome_wants_read,   // nothing more until the socket can be read
  clws_outcome_wants_write,  // nothing more until the socket can be written
  clws_outcome_over,         // the connection has ended, or is broken
  clws_outcome_cut,          // the same in the midst of TLS, where anybody can end TCP
};

// A socket and its TLS session.
struct clws_taken {
  int descriptor;
  SSL *tls;          // NULL without TLS
};

// Two connected sockets, of which the library gets copies of the first in place of those that are taken: nothing can be
// read there, and nobody hears what is written.
static inline bool clws_decoy_open(int decoy[2]) {
#if defined(__linux__)
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, decoy) == 0;
#else
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, decoy) != 0) return false;
  for (int end = 0; end < 2; end++) {
    fcntl(decoy[end], F_SETFD, FD_CLOEXEC);
    fcntl(decoy[end], F_SETFL, fcntl(decoy[end], F_GETFL) | O_NONBLOCK);
  }
  return true;
#endif
}

// Puts a copy of `decoy` in a descriptor's place.
static inline bool clws_decoy_put(int decoy, int descriptor) {
#if defined(__linux__)
  return syscall(SYS_dup3, decoy, descriptor, O_CLOEXEC) >= 0;
#else
  return dup2(decoy, descriptor) >= 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
#endif
}

static inline int clws_verify_nothing(int preverified, X509_STORE_CTX *store) {
  (void)preverified, (void)store;
  return 0;
}

// Has a session that the library has closed go on over the socket that was taken. False without memory.
static inline bool clws_taken_settle(const struct clws_taken *taken, const void *former, int shutdown) {
  SSL *tls = taken->tls;
  if (!tls) return true;
  SSL_set_quiet_shutdown(tls, 0);
  SSL_set_shutdown(tls, shutdown);
  // The library's callbacks look for its own object there, which is gone. It has a place or two, among the first.
  for (int place = 0; place < 8; place++)
    if (SSL_get_ex_data(tls, place) == former) SSL_set_ex_data(tls, place, NULL);
  // Its check of certificates, too; with renegotiation off there is none to check any more.
  SSL_set_options(tls, SSL_OP_NO_RENEGOTIATION);
  SSL_set_verify(tls, SSL_VERIFY_PEER, clws_verify_nothing);
  SSL_set_mode(tls, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return SSL_set_fd(tls, taken->descriptor) == 1;
}

// Reads up to `size` bytes. What the session has besides is told by `done`; the socket's readiness does not tell of it.
static inline enum clws_outcome clws_read(int descriptor, SSL *tls, unsigned char *bytes, size_t size, size_t *count) {
  *count = 0;
  if (!tls) {
    while (true) {
      ssize_t result = recv(descriptor, bytes, size, 0);
      if (result > 0) *count = (size_t)result;
      if (result > 0 || (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))) return clws_outcome_wants_read;
      if (result == 0 || errno != EINTR) return clws_outcome_over;
    }
  }
  while (*count < size) {
    ERR_clear_error();
    int result = SSL_read(tls, bytes + *count, (int)(size - *count));
    if (result > 0) {
      *count += (size_t)result;
      continue;
    }
    int problem = SSL_get_error(tls, result);
    if (problem == SSL_ERROR_WANT_READ) {
      // 16 KiB each, which come back with the first byte; the tickets of TLS 1.3 leave them behind.
      SSL_free_buffers(tls);
      return clws_outcome_wants_read;
    }
    if (problem == SSL_ERROR_WANT_WRITE) return clws_outcome_wants_write;
    return problem == SSL_ERROR_ZERO_RETURN ? clws_outcome_over : clws_outcome_cut;
  }
  return clws_outcome_done;
}

// Writes as much as the system takes. A session never has to read first, because there is no renegotiation.
static inline enum clws_outcome clws_send(int descriptor, SSL *tls, const unsigned char *bytes, size_t size,
                                          size_t *count) {
#if !defined(MSG_NOSIGNAL)
  enum { MSG_NOSIGNAL = 0 };
#endif
  *count = 0;
  while (*count < size) {
    if (tls) {
      ERR_clear_error();
      int result = SSL_write(tls, bytes + *count, (int)(size - *count));
      if (result <= 0)
        return SSL_get_error(tls, result) == SSL_ERROR_WANT_WRITE ? clws_outcome_wants_write : clws_outcome_over;
      *count += (size_t)result;
    } else {
      ssize_t result = send(descriptor, bytes + *count, size - *count, MSG_NOSIGNAL);
      if (result < 0 && errno == EINTR) continue;
      if (result < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? clws_outcome_wants_write : clws_outcome_over;
      *count += (size_t)result;
    }
  }
  return clws_outcome_done;
}

// Says that nothing more is sent, and leaves the other direction open. False while the system does not take the words.
static inline bool clws_end_writing(int descriptor, SSL *tls) {
  if (tls) {
    ERR_clear_error();
    int result = SSL_shutdown(tls);
    if (result < 0 && SSL_get_error(tls, result) == SSL_ERROR_WANT_WRITE) return false;
    ERR_clear_error();
  }
  shutdown(descriptor, SHUT_WR);
  return true;
}

// Closes at once; the peer is told if the system takes it.
static inline void clws_close(int descriptor, SSL *tls) {
  if (tls) {
    SSL_shutdown(tls);
    ERR_clear_error();
    SSL_free(tls);
  }
  close(descriptor);
}

// Takes a connection from the library, which closes what it is left with at once, so not within one of its callbacks. False,
// and all of it closed, without a descriptor or memory to spare. C, because the order of the steps is the library's: it
// closes the descriptor that it knows, and says goodbye over it.
static inline bool clws_take(struct lws *wsi, int decoy, struct clws_taken *taken) {
  int descriptor = (int)lws_get_socket_fd(wsi);
  taken->descriptor = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  bool is_taken = taken->descriptor >= 0 && clws_decoy_put(decoy, descriptor);
  taken->tls = is_taken ? lws_get_ssl(wsi) : NULL;
  int shutdown = 0;
  if (taken->tls) {
    // The library's closing is to say nothing to the peer, and to leave no trace.
    SSL_up_ref(taken->tls);
    shutdown = SSL_get_shutdown(taken->tls);
    SSL_set_quiet_shutdown(taken->tls, 1);
  }
  lws_set_timeout(wsi, (enum pending_timeout)1, LWS_TO_KILL_SYNC);
  if (is_taken && clws_taken_settle(taken, wsi, shutdown)) {
#if defined(SO_NOSIGPIPE)
    int on = 1;
    setsockopt(taken->descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return true;
  }
  if (taken->descriptor >= 0) clws_close(taken->descriptor, taken->tls);
  return false;
}

#endif

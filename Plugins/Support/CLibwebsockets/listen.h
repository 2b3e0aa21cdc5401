// Listening: sockets of our own.
#ifndef CLIBWEBSOCKETS_LISTEN_H
#define CLIBWEBSOCKETS_LISTEN_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// C, because an address is one of two structures behind a third.
static inline socklen_t clws_socket_address(struct sockaddr_storage *storage, const char *address, int port) {
  memset(storage, 0, sizeof *storage);
  struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
  if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons((uint16_t)port);
    return sizeof *v4;
  }
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
  if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    return sizeof *v6;
  }
  return 0;
}

static inline bool clws_make_unblocking(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

// A socket that listens at a numeric address, or -1 and `errno`. A port is had again at once after its server has ended.
static inline int clws_listen(const char *address, int port, int backlog) {
  struct sockaddr_storage storage;
  socklen_t size = clws_socket_address(&storage, address, port);
  if (size == 0) {
    errno = EINVAL;
    return -1;
  }
  int descriptor = socket(storage.ss_family, SOCK_STREAM, 0);
  if (descriptor < 0) return -1;
  int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (clws_make_unblocking(descriptor) && bind(descriptor, (struct sockaddr *)&storage, size) == 0 &&
      listen(descriptor, backlog) == 0)
    return descriptor;
  int problem = errno;
  close(descriptor);
  errno = problem;
  return -1;
}

// The address of a Unix-domain socket; 0 for a path that is too long. C, because the path is an array in a structure.
static inline socklen_t clws_path_address(struct sockaddr_un *place, const char *path) {
  memset(place, 0, sizeof *place);
  if (strlen(path) >= sizeof place->sun_path) {
    errno = ENAMETOOLONG;
    return 0;
  }
  place->sun_family = AF_UNIX;
  strcpy(place->sun_path, path);
  return sizeof *place;
}

// A Unix-domain socket that listens at a path, or -1 and `errno`.
static inline int clws_listen_path(const char *path, int backlog) {
  struct sockaddr_un place;
  socklen_t size = clws_path_address(&place, path);
  if (size == 0) return -1;
  int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  if (descriptor < 0) return -1;
  if (clws_make_unblocking(descriptor) && bind(descriptor, (struct sockaddr *)&place, size) == 0 &&
      listen(descriptor, backlog) == 0)
    return descriptor;
  int problem = errno;
  close(descriptor);
  errno = problem;
  return -1;
}

static inline void clws_remove_path(const char *path) { unlink(path); }

// The port that a socket is bound to, 0 for one without ports, or -1.
static inline int clws_bound_port(int descriptor) {
  struct sockaddr_storage storage;
  socklen_t size = sizeof storage;
  if (getsockname(descriptor, (struct sockaddr *)&storage, &size) != 0) return -1;
  if (storage.ss_family == AF_UNIX) return 0;
  if (storage.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&storage)->sin6_port);
  return ntohs(((struct sockaddr_in *)&storage)->sin_port);
}

#define CLWS_ADDRESS_SIZE INET6_ADDRSTRLEN

// Writes the numeric address of the other side of an accepted connection; false when there is none any more.
static inline bool clws_peer_address(int descriptor, char text[CLWS_ADDRESS_SIZE]) {
  struct sockaddr_storage storage;
  socklen_t size = sizeof storage;
  if (getpeername(descriptor, (struct sockaddr *)&storage, &size) != 0) return false;
  if (storage.ss_family == AF_UNIX) return false;
  const void *address = storage.ss_family == AF_INET6 ? (const void *)&((struct sockaddr_in6 *)&storage)->sin6_addr
                                                      : (const void *)&((struct sockaddr_in *)&storage)->sin_addr;
  return inet_ntop(storage.ss_family, address, text, CLWS_ADDRESS_SIZE) != NULL;
}

// The number of the last failure. C, because `errno` is a macro.
static inline int clws_problem(void) { return errno; }
static inline bool clws_is_taken(int problem) { return problem == EADDRINUSE; }

// The next connection; -1 when nobody waits, -2 when the process has no descriptor left for it.
static inline int clws_accept(int listener) {
  while (true) {
    int descriptor = accept(listener, NULL, NULL);
    if (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (descriptor < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#if defined(SO_NOSIGPIPE)
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    if (clws_make_unblocking(descriptor)) return descriptor;
    close(descriptor);
  }
}

static inline void clws_discard(int descriptor) { close(descriptor); }

#endif

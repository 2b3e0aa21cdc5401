// Connecting: sockets of our own, of which the library is given the one that answered. It dials one address after the
// other, and knows no SOCKS in the builds of distributions.
#ifndef CLIBWEBSOCKETS_DIAL_H
#define CLIBWEBSOCKETS_DIAL_H

#include <libwebsockets.h>

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen.h"
#include "socket.h"

// Begins to connect to a numeric address; returns a socket, or the system's number for the failure below zero. C, because
// an address is one of two structures behind a third.
static inline int clws_dial(const char *address, int port) {
  char service[8];
  snprintf(service, sizeof service, "%d", port);
  struct addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(address, service, &hints, &found) != 0 || !found) return -EINVAL;
  int descriptor = socket(found->ai_family, SOCK_STREAM, 0);
  int problem = descriptor < 0 ? errno : 0;
  if (!problem) {
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#if defined(SO_NOSIGPIPE)
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    if (!clws_make_unblocking(descriptor) ||
        (connect(descriptor, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS && errno != EINTR)) {
      problem = errno;
      close(descriptor);
    }
  }
  freeaddrinfo(found);
  return problem ? -problem : descriptor;
}

// The same for the path of a Unix-domain socket.
static inline int clws_dial_path(const char *path) {
  struct sockaddr_un place;
  socklen_t size = clws_path_address(&place, path);
  int descriptor = size > 0 ? socket(AF_UNIX, SOCK_STREAM, 0) : -1;
  if (descriptor < 0) return -errno;
#if defined(SO_NOSIGPIPE)
  int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  if (clws_make_unblocking(descriptor) &&
      (connect(descriptor, (struct sockaddr *)&place, size) == 0 || errno == EINPROGRESS))
    return descriptor;
  int problem = errno;
  close(descriptor);
  return -problem;
}

// Why a socket that was being connected is not: 0 when it is.
static inline int clws_dial_problem(int descriptor) {
  int problem = 0;
  socklen_t size = sizeof problem;
  return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 ? problem : errno;
}

// Where the library connects: a listening socket of ours that takes no connection, so that the library waits for its own.
// In place of that it is given the one that is wanted, and finds it connected in its next turn. Not within the call that
// connects, where it reports no failure, and may return a connection that it has freed.
struct clws_dock {
  int listener;
  int filler;         // the connection that makes the listener's queue full
  int port;
  char address[16];   // as the library takes it: a plus sign and the name of an abstract socket, or a numeric address
};

static inline void clws_dock_close(struct clws_dock *dock) {
  if (dock->listener >= 0) close(dock->listener);
  if (dock->filler >= 0) close(dock->filler);
}

#if defined(__linux__)

// An abstract socket, whose name the system chooses. With a full queue connecting is refused for the moment, which the
// library takes for being under way.
static inline bool clws_dock_open(struct clws_dock *dock) {
  struct sockaddr_un place;
  socklen_t size = sizeof(sa_family_t);
  memset(&place, 0, sizeof place);
  place.sun_family = AF_UNIX;
  dock->port = 1;
  dock->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  dock->filler = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (dock->listener >= 0 && dock->filler >= 0 && bind(dock->listener, (struct sockaddr *)&place, size) == 0 &&
      listen(dock->listener, 0) == 0) {
    size = sizeof place;
    if (getsockname(dock->listener, (struct sockaddr *)&place, &size) == 0 &&
        (connect(dock->filler, (struct sockaddr *)&place, size) == 0 || errno == EAGAIN)) {
      int count = (int)size - (int)offsetof(struct sockaddr_un, sun_path) - 1;
      snprintf(dock->address, sizeof dock->address, "+@%.*s", count, place.sun_path + 1);
      return true;
    }
  }
  clws_dock_close(dock);
  return false;
}

#else

// A port of the loopback.
static inline bool clws_dock_open(struct clws_dock *dock) {
  dock->filler = -1;
  dock->listener = clws_listen("127.0.0.1", 0, 1);
  if (dock->listener < 0) return false;
  dock->port = clws_bound_port(dock->listener);
  strcpy(dock->address, "127.0.0.1");
  return true;
}

#endif

// Puts a connected socket in the place of the library's. C, because the library knows a socket by its number alone.
static inline bool clws_dock_swap(const struct clws_dock *dock, struct lws *wsi, int descriptor) {
  int own = (int)lws_get_socket_fd(wsi);
  bool is_swapped = own >= 0 && clws_decoy_put(descriptor, own);
  close(descriptor);
#if !defined(__linux__)
  int waiting;
  while ((waiting = accept(dock->listener, NULL, NULL)) >= 0) close(waiting);
#else
  (void)dock;
#endif
  return is_swapped;
}

// Sends what the system takes of a few bytes; returns how many, or -1 when the connection is broken.
static inline int clws_dial_send(int descriptor, const unsigned char *bytes, size_t size) {
  size_t count = 0;
  return clws_send(descriptor, NULL, bytes, size, &count) == clws_outcome_over ? -1 : (int)count;
}

#endif

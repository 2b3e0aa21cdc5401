// Waiting for any of many descriptors at a cost that does not depend on how many there are: epoll, or kqueue where that is.
// C, because the two are macros and unions that differ from system to system.
#ifndef CLIBWEBSOCKETS_POLLER_H
#define CLIBWEBSOCKETS_POLLER_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#else
#include <sys/types.h>
#include <sys/event.h>
#endif

enum {
  clws_ready_to_read = 1,
  clws_ready_to_write = 2,
  clws_ready_over = 4,    // broken, or ended in both directions; told whether it is watched for or not
  clws_unwatched = -1,    // what a descriptor is watched for that is not known yet
  clws_ready_batch = 256  // the most events of one look
};

// A descriptor's event, with what it was watched for.
struct clws_ready {
  void *owner;
  int events;
};

struct clws_poller {
  int descriptor;
  int wake;            // where other threads wake it
  bool has_fine_waits; // whether the system takes timeouts in nanoseconds
};

#if defined(__linux__)

static inline bool clws_poller_open(struct clws_poller *poller) {
  poller->descriptor = epoll_create1(EPOLL_CLOEXEC);
  poller->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  poller->has_fine_waits = true;
  // Told once for each write, so that nobody has to read.
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.ptr = NULL}};
  if (poller->descriptor >= 0 && poller->wake >= 0 &&
      epoll_ctl(poller->descriptor, EPOLL_CTL_ADD, poller->wake, &event) == 0)
    return true;
  if (poller->descriptor >= 0) close(poller->descriptor);
  if (poller->wake >= 0) close(poller->wake);
  return false;
}

static inline void clws_poller_close(struct clws_poller poller) {
  close(poller.descriptor);
  close(poller.wake);
}

// From any thread.
static inline void clws_poller_wake(int wake) {
  uint64_t one = 1;
  ssize_t written;
  do written = write(wake, &one, sizeof one);
  while (written < 0 && errno == EINTR);
}

// Watches a descriptor for `events` that was watched for `former` until now.
static inline bool clws_poller_watch(const struct clws_poller *poller, int descriptor, void *owner, int former,
                                     int events) {
  struct epoll_event event = {.events = 0, .data = {.ptr = owner}};
  if (events & clws_ready_to_read) event.events |= EPOLLIN;
  if (events & clws_ready_to_write) event.events |= EPOLLOUT;
  int change = former == clws_unwatched ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  return epoll_ctl(poller->descriptor, change, descriptor, &event) == 0;
}

// Before a descriptor is closed: a process that was forked off may still hold it, and its events would go on.
static inline void clws_poller_unwatch(const struct clws_poller *poller, int descriptor, int former) {
  struct epoll_event event = {0};
  if (former != clws_unwatched) epoll_ctl(poller->descriptor, EPOLL_CTL_DEL, descriptor, &event);
}

static inline int clws_poller_wait_for(struct clws_poller *poller, struct epoll_event *events, int most,
                                       int64_t nanoseconds) {
  if (nanoseconds <= 0) return epoll_wait(poller->descriptor, events, most, nanoseconds < 0 ? -1 : 0);
#if defined(SYS_epoll_pwait2) && __SIZEOF_LONG__ == 8
  if (poller->has_fine_waits) {
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    long count = syscall(SYS_epoll_pwait2, poller->descriptor, events, most, &time, NULL, (size_t)8);
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return (int)count;
    poller->has_fine_waits = false;
  }
#endif
  // Rounded up: one that woke before its time would find nothing to do.
  int64_t milliseconds = (nanoseconds + 999999) / 1000000;
  return epoll_wait(poller->descriptor, events, most, milliseconds > 1000000000 ? 1000000000 : (int)milliseconds);
}

// Waits that long at most, for ever if the time is negative; returns how many events there are. Being woken is none.
static inline int clws_poller_wait(struct clws_poller *poller, struct clws_ready *ready, int64_t nanoseconds) {
  struct epoll_event events[clws_ready_batch];
  int count = clws_poller_wait_for(poller, events, clws_ready_batch, nanoseconds);
  int told = 0;
  for (int index = 0; index < count; index++) {
    if (!events[index].data.ptr) continue;
    struct clws_ready *next = &ready[told++];
    next->owner = events[index].data.ptr;
    next->events = 0;
    if (events[index].events & EPOLLIN) next->events |= clws_ready_to_read;
    if (events[index].events & EPOLLOUT) next->events |= clws_ready_to_write;
    if (events[index].events & (EPOLLERR | EPOLLHUP)) next->events |= clws_ready_over;
  }
  return told;
}

#else

static inline bool clws_poller_open(struct clws_poller *poller) {
  poller->descriptor = kqueue();
  poller->wake = poller->descriptor;
  poller->has_fine_waits = true;
  if (poller->descriptor < 0) return false;
  struct kevent change;
  EV_SET(&change, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
  if (fcntl(poller->descriptor, F_SETFD, FD_CLOEXEC) == 0 &&
      kevent(poller->descriptor, &change, 1, NULL, 0, NULL) == 0)
    return true;
  close(poller->descriptor);
  return false;
}

static inline void clws_poller_close(struct clws_poller poller) { close(poller.descriptor); }

// From any thread.
static inline void clws_poller_wake(int wake) {
  struct kevent change;
  EV_SET(&change, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
  kevent(wake, &change, 1, NULL, 0, NULL);
}

// Watches a descriptor for `events` that was watched for `former` until now.
static inline bool clws_poller_watch(const struct clws_poller *poller, int descriptor, void *owner, int former,
                                     int events) {
  struct kevent changes[2];
  int count = 0;
  if (former == clws_unwatched) former = 0;
  if ((former ^ events) & clws_ready_to_read) {
    EV_SET(&changes[count], descriptor, EVFILT_READ, events & clws_ready_to_read ? EV_ADD : EV_DELETE, 0, 0, owner);
    count++;
  }
  if ((former ^ events) & clws_ready_to_write) {
    EV_SET(&changes[count], descriptor, EVFILT_WRITE, events & clws_ready_to_write ? EV_ADD : EV_DELETE, 0, 0, owner);
    count++;
  }
  return count == 0 || kevent(poller->descriptor, changes, count, NULL, 0, NULL) == 0;
}

// Before a descriptor is closed. One that a forked process holds is not inherited with the queue.
static inline void clws_poller_unwatch(const struct clws_poller *poller, int descriptor, int former) {
  if (former != clws_unwatched) clws_poller_watch(poller, descriptor, NULL, former, 0);
}

// Waits that long at most, for ever if the time is negative; returns how many events there are. Being woken is none.
static inline int clws_poller_wait(struct clws_poller *poller, struct clws_ready *ready, int64_t nanoseconds) {
  struct kevent events[clws_ready_batch];
  struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  int count = kevent(poller->descriptor, NULL, 0, events, clws_ready_batch, nanoseconds < 0 ? NULL : &time);
  int told = 0;
  for (int index = 0; index < count; index++) {
    if (events[index].filter == EVFILT_USER || !events[index].udata) continue;
    struct clws_ready *next = &ready[told++];
    next->owner = events[index].udata;
    next->events = events[index].filter == EVFILT_WRITE ? clws_ready_to_write : clws_ready_to_read;
  }
  return told;
}

#endif

#endif

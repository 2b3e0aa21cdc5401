// The C library: what the modules take from it, by one name on all platforms, and what Swift's modules for it leave out:
// a timer that goes on while the machine sleeps, the name of a thread, and what is atomic: a counter and a flag.

#ifndef CLINKSPANRUNTIME_H
#define CLINKSPANRUNTIME_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/// Opens a file for reading; `open` takes any number of arguments.
static inline int clinkspan_open(const char *path) { return open(path, O_RDONLY | O_CLOEXEC); }

/// Adds one and returns the sum, atomically. The number: between all threads that make something that is numbered.
static inline uint64_t clinkspan_next(uint64_t *last) { return __atomic_add_fetch(last, 1, __ATOMIC_RELAXED); }

/// Raises a flag for all threads that look at it after this. The flag: between the owner and the users of something.
static inline void clinkspan_raise(_Bool *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

/// Whether the flag has been raised.
static inline _Bool clinkspan_is_raised(const _Bool *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }

/// The number of descriptors that the process may have open.
static inline int64_t clinkspan_descriptor_limit(void) {
    enum { plenty = 1 << 30 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > plenty) return plenty;
    return (int64_t)limit.rlim_cur;
}

/// The nanoseconds of a clock that goes on while the machine sleeps: that of Swift's ContinuousClock.
static inline int64_t clinkspan_now(void) {
#if defined(__APPLE__)
    const clockid_t clock = CLOCK_MONOTONIC_RAW;
#else
    const clockid_t clock = CLOCK_BOOTTIME;
#endif
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/// The number of the last failure of this thread; Swift does not see the macro.
static inline int clinkspan_failure(void) { return errno; }

/// Has a socket of TCP neither block nor delay what is written, and a write to a closed one fail without a signal.
static inline void clinkspan_prepare_socket(int descriptor) {
    int one = 1;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
#if defined(SO_NOSIGPIPE)
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof one);
#endif
}

/// Opens a socket that listens at an address, or that begins to connect to it; -1 with errno.
static inline int clinkspan_open_socket(const struct sockaddr *address, socklen_t length, _Bool listens) {
    int one = 1, descriptor = socket(address->sa_family, SOCK_STREAM, 0);
    if (descriptor < 0) return -1;
    clinkspan_prepare_socket(descriptor);
    if (listens) {
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(descriptor, address, length) == 0 && listen(descriptor, SOMAXCONN) == 0) return descriptor;
    } else if (connect(descriptor, address, length) == 0 || errno == EINPROGRESS) {
        return descriptor;
    }
    int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
}

/// The port of a socket; 0 for one that has none.
static inline int clinkspan_port(int descriptor) {
    struct sockaddr_storage place = {0};
    socklen_t size = sizeof place;
    getsockname(descriptor, (struct sockaddr *)&place, &size);
    if (place.ss_family != AF_INET && place.ss_family != AF_INET6) return 0;
    // At the same place in both.
    return ntohs(((struct sockaddr_in *)&place)->sin_port);
}

/// Accepts a connection; -1 when none waits.
static inline int clinkspan_accept(int listener) {
    int descriptor = accept(listener, 0, 0);
    if (descriptor >= 0) clinkspan_prepare_socket(descriptor);
    return descriptor;
}

/// Writes to a socket, without a signal when its peer is gone.
static inline ssize_t clinkspan_send(int descriptor, const void *bytes, size_t count) {
#if defined(MSG_NOSIGNAL)
    return send(descriptor, bytes, count, MSG_NOSIGNAL);
#else
    return send(descriptor, bytes, count, 0);
#endif
}

/// Closes a socket of TCP so that its peer sees a reset.
static inline void clinkspan_reset_socket(int descriptor) {
    struct linger linger = {1, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(descriptor);
}

#if defined(__GLIBC__)

#include <resolv.h>

/// Has the calling thread's look-ups ask each name server once and for a second, or as resolv.conf(5) says.
static inline void clinkspan_resolve_quickly(_Bool is_quick) {
    if (res_init() != 0 || !is_quick) return;
    _res.retrans = 1;
    _res.retry = 1;
}

#else

static inline void clinkspan_resolve_quickly(_Bool is_quick) { (void)is_quick; }

#endif

#if defined(__linux__)

#include <sys/prctl.h>
#include <sys/timerfd.h>

/// Opens a timer; -1 when there is no descriptor left.
static inline int clinkspan_timer_open(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC); }

/// Sets the timer to expire once, in at least one nanosecond; a thread that waits for it already sees the new time.
static inline int clinkspan_timer_set(int timer, int64_t nanoseconds) {
    struct itimerspec spec = {{0, 0}, {nanoseconds / 1000000000, nanoseconds % 1000000000}};
    return timerfd_settime(timer, 0, &spec, 0);
}

/// Waits until the timer expires.
static inline void clinkspan_timer_wait(int timer) {
    uint64_t expirations;
    while (read(timer, &expirations, sizeof expirations) < 0 && errno == EINTR) {}
}

/// Names the calling thread, for debuggers and profilers; names are cut to 15 bytes.
static inline void clinkspan_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

#elif defined(__APPLE__)

#include <mach/mach_time.h>
#include <sys/event.h>

static inline int clinkspan_timer_open(void) { return kqueue(); }

static inline int clinkspan_timer_set(int timer, int64_t nanoseconds) {
    mach_timebase_info_data_t base;
    mach_timebase_info(&base);
    // Divided first where the product could overflow; what is lost is less than a tick in a second.
    uint64_t span = (uint64_t)nanoseconds;
    uint64_t ticks = span / base.numer * base.denom + span % base.numer * base.denom / base.numer;
    struct kevent change;
    EV_SET(
        &change, 1, EVFILT_TIMER, EV_ADD | EV_ONESHOT, NOTE_MACHTIME | NOTE_ABSOLUTE | NOTE_MACH_CONTINUOUS_TIME,
        (intptr_t)(mach_continuous_time() + ticks), 0);
    return kevent(timer, &change, 1, 0, 0, 0);
}

static inline void clinkspan_timer_wait(int timer) {
    struct kevent event;
    while (kevent(timer, 0, 0, &event, 1, 0) < 0 && errno == EINTR) {}
}

static inline void clinkspan_name_thread(const char *name) { pthread_setname_np(name); }

#endif
#endif

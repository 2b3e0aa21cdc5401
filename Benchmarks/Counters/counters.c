// Counts what a message costs besides time: preloaded into the workloads, which read the numbers by `dlsym`.
//
//     LD_PRELOAD=counters.so workloads W1
//
// Allocations, mutexes, semaphores and system calls are counted at the functions of the C library; calls that the C
// library makes inside itself, such as the futex of a contended mutex, are not seen and show up as context switches.
// Retains and releases are counted at the runtime's own hooks, those of the standard library included; they stay at zero
// where the runtime has no such hooks.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/// What is counted, in the order in which `linkspan_counters` hands it out.
enum { ALLOCATIONS, LOCKS, RETAINS, RELEASES, CALLS, WAKES, KINDS };
enum { SLOTS = 1024, DESCRIPTORS = 4096 };

/// One line of numbers per thread, so that counting does not make threads wait for each other.
static struct slot {
    _Alignas(128) uint64_t counts[KINDS];
} slots[SLOTS];
static atomic_uint used;
static __thread struct slot *mine __attribute__((tls_model("initial-exec")));

static inline void count(int kind) {
    if (!mine) mine = &slots[atomic_fetch_add(&used, 1) % SLOTS];
    mine->counts[kind]++;
}

/// Fills in the sums over all threads and returns how many there are.
int linkspan_counters(uint64_t *sums, int capacity) {
    unsigned threads = atomic_load(&used);
    for (int kind = 0; kind < KINDS && kind < capacity; kind++) {
        sums[kind] = 0;
        for (unsigned slot = 0; slot < threads && slot < SLOTS; slot++) sums[kind] += slots[slot].counts[kind];
    }
    return KINDS;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

// Memory. The names with underscores are glibc's own, because `dlsym` allocates.

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    count(ALLOCATIONS);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(ALLOCATIONS);
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count(ALLOCATIONS);
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(ALLOCATIONS);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count(ALLOCATIONS);
    *result = __libc_memalign(alignment, size);
    return *result ? 0 : ENOMEM;
}

// Locks.

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    REAL(pthread_mutex_lock);
    count(LOCKS);
    return real(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    REAL(pthread_mutex_trylock);
    count(LOCKS);
    return real(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    REAL(pthread_rwlock_rdlock);
    count(LOCKS);
    return real(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    REAL(pthread_rwlock_wrlock);
    count(LOCKS);
    return real(lock);
}

// Wake-ups of another thread: a condition, a semaphore, or a byte for a loop that polls.

int pthread_cond_signal(pthread_cond_t *condition) {
    REAL(pthread_cond_signal);
    count(WAKES);
    return real(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    REAL(pthread_cond_broadcast);
    count(WAKES);
    return real(condition);
}

int sem_post(sem_t *semaphore) {
    REAL(sem_post);
    count(WAKES);
    return real(semaphore);
}

/// Whether a descriptor leads to another thread of this process rather than to a peer or a file.
static bool wakes(int descriptor) {
    static atomic_char known[DESCRIPTORS];
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return false;
    char kind = atomic_load_explicit(&known[descriptor], memory_order_relaxed);
    if (!kind) {
        struct stat status;
        bool is_other = fstat(descriptor, &status) || S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode)
            || S_ISCHR(status.st_mode);
        kind = is_other ? 'o' : 'w';
        atomic_store_explicit(&known[descriptor], kind, memory_order_relaxed);
    }
    return kind == 'w';
}

// System calls.

ssize_t write(int descriptor, const void *bytes, size_t size) {
    REAL(write);
    count(CALLS);
    if (wakes(descriptor)) count(WAKES);
    return real(descriptor, bytes, size);
}

#define COUNTED(result, name, parameters, arguments) \
    result name parameters { \
        REAL(name); \
        count(CALLS); \
        return real arguments; \
    }

COUNTED(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size))
COUNTED(ssize_t, readv, (int fd, const struct iovec *parts, int number), (fd, parts, number))
COUNTED(ssize_t, writev, (int fd, const struct iovec *parts, int number), (fd, parts, number))
COUNTED(ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
COUNTED(ssize_t, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags))
COUNTED(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
COUNTED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
COUNTED(int, poll, (struct pollfd *list, nfds_t number, int timeout), (list, number, timeout))
COUNTED(int, ppoll, (struct pollfd *list, nfds_t number, const struct timespec *timeout, const sigset_t *mask),
    (list, number, timeout, mask))
COUNTED(int, epoll_wait, (int fd, struct epoll_event *events, int number, int timeout), (fd, events, number, timeout))
COUNTED(int, epoll_pwait, (int fd, struct epoll_event *events, int number, int timeout, const sigset_t *mask),
    (fd, events, number, timeout, mask))
COUNTED(int, epoll_ctl, (int fd, int operation, int other, struct epoll_event *event), (fd, operation, other, event))

/// Swift's mutex and libdispatch come here for the futex; `FUTEX_WAKE` is the only other operation that matters.
long syscall(long number, ...) {
    enum { FUTEX_WAKE = 1, COMMAND_MASK = 0x7F };
    REAL(syscall);
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long),
         e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    count(CALLS);
    if (number == SYS_futex && (b & COMMAND_MASK) == FUTEX_WAKE) count(WAKES);
    return real(number, a, b, c, d, e, f);
}

// Reference counts: every call, those with null or with a string that is no object included.

static void *(*retain)(void *), *(*retain_n)(void *, uint32_t);
static void (*release)(void *), (*release_n)(void *, uint32_t);

static void *counting_retain(void *object) {
    count(RETAINS);
    // The values that are no counted objects are negative or null; the hook is to be spared them.
    return (intptr_t)object <= 0 ? object : retain(object);
}

static void *counting_retain_n(void *object, uint32_t number) {
    count(RETAINS);
    return retain_n(object, number);
}

static void counting_release(void *object) {
    count(RELEASES);
    release(object);
}

static void counting_release_n(void *object, uint32_t number) {
    count(RELEASES);
    release_n(object, number);
}

/// Puts `replacement` into a pointer of the runtime and keeps what was there.
static void hook(void **pointer, void *kept, void *replacement) {
    if (!pointer) return;
    memcpy(kept, pointer, sizeof *pointer);
    *pointer = replacement;
}

/// The pointer through which `swift_retain` goes when hooks are enabled.
///
/// `_swift_retain` itself is of no use: an adapter before it cuts off the sign, by which strings that are no objects are
/// told from those that are. The pointer to the adapter has no exported name, so it is taken from the code.
static void **adapter(void) {
#if defined(__x86_64__)
    // mov disp32(%rip), %rax; pop %rbp; jmp *%rax
    const unsigned char *code = dlsym(RTLD_DEFAULT, "swift_retain");
    for (int at = 0; code && at < 256; at++) {
        const unsigned char *here = code + at;
        if (memcmp(here, "\x48\x8b\x05", 3) || memcmp(here + 7, "\x5d\xff\xe0", 3)) continue;
        int32_t distance;
        memcpy(&distance, here + 3, sizeof distance);
        return (void **)(here + 7 + distance);
    }
#endif
    return NULL;
}

__attribute__((constructor)) static void install(void) {
    bool *enabled = dlsym(RTLD_DEFAULT, "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly");
    void **pointer = adapter();
    if (!enabled || !pointer) return;
    hook(pointer, &retain, counting_retain);
    hook(dlsym(RTLD_DEFAULT, "_swift_retain_n"), &retain_n, counting_retain_n);
    hook(dlsym(RTLD_DEFAULT, "_swift_release"), &release, counting_release);
    hook(dlsym(RTLD_DEFAULT, "_swift_release_n"), &release_n, counting_release_n);
    *enabled = true;
}

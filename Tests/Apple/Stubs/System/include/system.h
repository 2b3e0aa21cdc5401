// The C library of Apple's systems, as far as the package uses it: names and shapes, values where they matter to nobody.
#ifndef LINKSPAN_STUB_SYSTEM_H
#define LINKSPAN_STUB_SYSTEM_H

#include <stddef.h>
#include <stdarg.h>

#pragma clang assume_nonnull begin

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef long ssize_t;
typedef int32_t pid_t;
typedef uint32_t uid_t;
typedef uint32_t gid_t;
typedef uint16_t mode_t;
typedef uint16_t nlink_t;
typedef int32_t dev_t;
typedef uint64_t ino_t;
typedef int64_t off_t;
typedef long time_t;
typedef unsigned long clock_t;
typedef uint32_t socklen_t;
typedef uint8_t sa_family_t;
typedef uint16_t in_port_t;
typedef uint32_t in_addr_t;
typedef unsigned int speed_t;
typedef unsigned long tcflag_t;
typedef unsigned char cc_t;

// Errors
int *__error(void);
#define errno (*__error())
#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EBADF 9
#define EAGAIN 35
#define EWOULDBLOCK EAGAIN
#define EACCES 13
#define EEXIST 17
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define EMFILE 24
#define ENOSPC 28
#define EROFS 30
#define EPIPE 32
#define EINPROGRESS 36
#define ENOTCONN 57
#define EADDRINUSE 48
#define ENETUNREACH 51
#define ECONNRESET 54
#define ENOBUFS 55
#define ECONNREFUSED 61
#define ELOOP 62
#define EHOSTUNREACH 65
#define EDQUOT 69
#define ETIMEDOUT 60
char *_Null_unspecified strerror(int);

// Memory and text
void *_Null_unspecified malloc(size_t);
void *_Null_unspecified calloc(size_t, size_t);
void *_Null_unspecified realloc(void *_Nullable, size_t);
void free(void *_Nullable);
void *_Null_unspecified memcpy(void *_Null_unspecified, const void *_Null_unspecified, size_t);
void *_Null_unspecified memmove(void *_Null_unspecified, const void *_Null_unspecified, size_t);
void *_Null_unspecified memset(void *_Null_unspecified, int, size_t);
void *_Null_unspecified memchr(const void *_Null_unspecified, int, size_t);
int memcmp(const void *_Null_unspecified, const void *_Null_unspecified, size_t);
size_t strlen(const char *);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *_Nullable getenv(const char *);
int setenv(const char *, const char *, int);
int unsetenv(const char *);
double strtod(const char *, char *_Nullable *_Nullable);
int snprintf(char *_Nullable, size_t, const char *, ...);
void arc4random_buf(void *, size_t);
void exit(int) __attribute__((noreturn));
void _exit(int) __attribute__((noreturn));
double floor(double);
double pow(double, double);
double log1p(double);

// Files
struct timespec { time_t tv_sec; long tv_nsec; };
struct timeval { time_t tv_sec; int32_t tv_usec; };
struct stat {
    dev_t st_dev;
    mode_t st_mode;
    nlink_t st_nlink;
    ino_t st_ino;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    struct timespec st_atimespec;
    struct timespec st_mtimespec;
    struct timespec st_ctimespec;
    off_t st_size;
};
int stat(const char *, struct stat *);
int fstat(int, struct stat *);
int lstat(const char *, struct stat *);
int fchmod(int, mode_t);
int close(int);
ssize_t read(int, void *_Null_unspecified, size_t);
int usleep(unsigned int);
ssize_t write(int, const void *_Null_unspecified, size_t);
int fsync(int);
int unlink(const char *);
int rename(const char *, const char *);
int flock(int, int);
struct flock {
    off_t l_start;
    off_t l_len;
    pid_t l_pid;
    short l_type;
    short l_whence;
};
#define F_WRLCK 3
#define SEEK_SET 0
ssize_t pread(int, void *_Null_unspecified, size_t, off_t);
ssize_t pwrite(int, const void *_Null_unspecified, size_t, off_t);
int pipe(int[_Nonnull 2]);
int dup(int);
int dup2(int, int);
int isatty(int);
pid_t getpid(void);
int open(const char *, int, ...);
int fcntl(int, int, ...);
int ioctl(int, unsigned long, ...);
#define O_RDONLY 0x0
#define O_WRONLY 0x1
#define O_RDWR 0x2
#define O_NONBLOCK 0x4
#define O_CREAT 0x200
#define O_TRUNC 0x400
#define O_NOFOLLOW 0x100
#define O_CLOEXEC 0x1000000
#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define FD_CLOEXEC 1
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2

// Time
typedef enum { CLOCK_REALTIME = 0, CLOCK_MONOTONIC_RAW = 4, CLOCK_MONOTONIC = 6, CLOCK_UPTIME_RAW = 8, CLOCK_PROCESS_CPUTIME_ID = 12 } clockid_t
    __attribute__((enum_extensibility(open)));
int clock_gettime(clockid_t, struct timespec *);
time_t time(time_t *_Nullable);
struct mach_timebase_info { uint32_t numer; uint32_t denom; };
typedef struct mach_timebase_info mach_timebase_info_data_t;
int mach_timebase_info(mach_timebase_info_data_t *);
uint64_t mach_continuous_time(void);
int sysctlbyname(const char *, void *_Nullable, size_t *_Nullable, void *_Nullable, size_t);

// Events of the kernel
struct kevent { uintptr_t ident; int16_t filter; uint16_t flags; uint32_t fflags; intptr_t data; void *_Null_unspecified udata; };
int kqueue(void);
int kevent(int, const struct kevent *_Nullable, int, struct kevent *_Nullable, int, const struct timespec *_Nullable);
#define EV_SET(kevp, a, b, c, d, e, f) \
    do { \
        struct kevent *__kevp__ = (kevp); \
        __kevp__->ident = (a); __kevp__->filter = (b); __kevp__->flags = (c); \
        __kevp__->fflags = (d); __kevp__->data = (e); __kevp__->udata = (f); \
    } while (0)
#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EVFILT_TIMER (-7)
#define EVFILT_USER (-10)
#define EV_ADD 0x1
#define EV_DELETE 0x2
#define EV_ENABLE 0x4
#define EV_DISABLE 0x8
#define EV_ONESHOT 0x10
#define EV_CLEAR 0x20
#define EV_ERROR 0x4000
#define EV_EOF 0x8000
#define NOTE_TRIGGER 0x01000000
#define NOTE_ABSOLUTE 0x8
#define NOTE_NSECONDS 0x4
#define NOTE_MACHTIME 0x100
#define NOTE_MACH_CONTINUOUS_TIME 0x80

// Threads
typedef struct _opaque_pthread_t { long sig; } *pthread_t;
typedef struct _opaque_pthread_attr_t { long sig; } pthread_attr_t;
typedef struct _opaque_pthread_mutex_t { long sig; char opaque[56]; } pthread_mutex_t;
typedef struct _opaque_pthread_mutexattr_t { long sig; } pthread_mutexattr_t;
typedef struct _opaque_pthread_cond_t { long sig; } pthread_cond_t;
typedef struct _opaque_pthread_condattr_t { long sig; } pthread_condattr_t;
int pthread_create(
    pthread_t _Nullable *_Nonnull, const pthread_attr_t *_Nullable, void *_Nullable (*_Nonnull)(void *_Nonnull),
    void *_Nullable);
int pthread_detach(pthread_t);
int pthread_join(pthread_t, void *_Nullable *_Nullable);
pthread_t pthread_self(void);
int pthread_setname_np(const char *);
typedef unsigned long pthread_key_t;
int pthread_key_create(pthread_key_t *, void (*_Nullable)(void *));
void *_Nullable pthread_getspecific(pthread_key_t);
int pthread_setspecific(pthread_key_t, const void *_Nullable);
typedef enum { QOS_CLASS_USER_INITIATED = 0x19, QOS_CLASS_DEFAULT = 0x15, QOS_CLASS_UTILITY = 0x11 } qos_class_t
    __attribute__((enum_extensibility(open)));
int pthread_set_qos_class_self_np(qos_class_t, int);
struct os_unfair_lock_s { uint32_t _os_unfair_lock_opaque; };
typedef struct os_unfair_lock_s os_unfair_lock, *os_unfair_lock_t;
void os_unfair_lock_lock(os_unfair_lock_t);
void os_unfair_lock_unlock(os_unfair_lock_t);

// Signals
typedef uint32_t sigset_t;
struct __siginfo { int si_signo; };
union __sigaction_u {
    void (*_Null_unspecified __sa_handler)(int);
    void (*_Null_unspecified __sa_sigaction)(int, struct __siginfo *, void *);
};
struct sigaction { union __sigaction_u __sigaction_u; sigset_t sa_mask; int sa_flags; };
int sigaction(int, const struct sigaction *_Nullable, struct sigaction *_Nullable);
int sigemptyset(sigset_t *);
int kill(pid_t, int);
int raise(int);
typedef void (*_Null_unspecified sig_t)(int);
sig_t _Null_unspecified signal(int, sig_t _Null_unspecified);
#define SIGHUP 1
#define SIGINT 2
#define SIGKILL 9
#define SIGPIPE 13
#define SIGTERM 15
#define SIGTSTP 18
#define SIGCONT 19
#define SIGWINCH 28
#define SA_RESTART 0x2

// Sockets
struct sockaddr { uint8_t sa_len; sa_family_t sa_family; char sa_data[14]; };
struct sockaddr_storage { uint8_t ss_len; sa_family_t ss_family; char padding[126]; };
struct in_addr { in_addr_t s_addr; };
struct in6_addr { uint8_t bytes[16]; };
struct sockaddr_in { uint8_t sin_len; sa_family_t sin_family; in_port_t sin_port; struct in_addr sin_addr; char sin_zero[8]; };
struct sockaddr_in6 {
    uint8_t sin6_len;
    sa_family_t sin6_family;
    in_port_t sin6_port;
    uint32_t sin6_flowinfo;
    struct in6_addr sin6_addr;
    uint32_t sin6_scope_id;
};
struct sockaddr_un { uint8_t sun_len; sa_family_t sun_family; char sun_path[104]; };
struct addrinfo {
    int ai_flags;
    int ai_family;
    int ai_socktype;
    int ai_protocol;
    socklen_t ai_addrlen;
    char *_Null_unspecified ai_canonname;
    struct sockaddr *_Null_unspecified ai_addr;
    struct addrinfo *_Null_unspecified ai_next;
};
int socket(int, int, int);
int socketpair(int, int, int, int[_Nonnull 2]);
int bind(int, const struct sockaddr *_Null_unspecified, socklen_t);
int connect(int, const struct sockaddr *_Null_unspecified, socklen_t);
int listen(int, int);
int accept(int, struct sockaddr *_Nullable, socklen_t *_Nullable);
int shutdown(int, int);
int getsockname(int, struct sockaddr *_Null_unspecified, socklen_t *_Null_unspecified);
int setsockopt(int, int, int, const void *_Nullable, socklen_t);
int getsockopt(int, int, int, void *_Nullable, socklen_t *_Nullable);
ssize_t send(int, const void *_Null_unspecified, size_t, int);
ssize_t recv(int, void *_Null_unspecified, size_t, int);
int getaddrinfo(const char *_Nullable, const char *_Nullable, const struct addrinfo *_Nullable,
    struct addrinfo *_Nullable *_Nonnull);
void freeaddrinfo(struct addrinfo *_Nullable);
const char *_Null_unspecified gai_strerror(int);
int getnameinfo(const struct sockaddr *_Null_unspecified, socklen_t, char *_Nullable, socklen_t, char *_Nullable, socklen_t, int);
int inet_pton(int, const char *, void *);
const char *_Nullable inet_ntop(int, const void *, char *, socklen_t);
#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 30
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3
#define SOL_SOCKET 0xffff
#define SO_REUSEADDR 0x4
#define SO_ERROR 0x1007
#define SO_NOSIGPIPE 0x1022
#define SO_LINGER 0x80
struct linger { int l_onoff; int l_linger; };
#define SOMAXCONN 128
#define SHUT_WR 1
#define SHUT_RDWR 2
#define IPPROTO_TCP 6
#define IPPROTO_IPV6 41
#define IPV6_V6ONLY 27
#define TCP_NODELAY 1
#define NI_MAXHOST 1025
#define NI_NUMERICHOST 2
#define MSG_PEEK 2

// The terminal
struct termios { tcflag_t c_iflag; tcflag_t c_oflag; tcflag_t c_cflag; tcflag_t c_lflag; cc_t c_cc[20]; speed_t c_ispeed; speed_t c_ospeed; };
struct winsize { unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel; };
int tcgetattr(int, struct termios *);
int tcsetattr(int, int, const struct termios *);
void cfmakeraw(struct termios *);
struct pollfd { int fd; short events; short revents; };
int poll(struct pollfd *_Nullable, unsigned int, int);
#define POLLIN 1
#define POLLOUT 4
#define POLLHUP 16
typedef unsigned int nfds_t;
#define TIOCGWINSZ 0x40087468UL
#define TCSAFLUSH 2
#define ECHO 8
#define ICANON 0x100

struct rusage { struct timeval ru_utime; struct timeval ru_stime; long ru_maxrss; };
int getrusage(int, struct rusage *);
#define RLIMIT_NOFILE 8
struct rlimit { uint64_t rlim_cur; uint64_t rlim_max; };
int getrlimit(int, struct rlimit *);
#define RUSAGE_SELF 0

#pragma clang assume_nonnull end
#endif

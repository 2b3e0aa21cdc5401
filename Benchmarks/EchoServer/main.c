// A server to measure clients against: Socket.IO and raw WebSocket echo on one thread.
//
// It has to need less CPU than any client it measures, so a turn of the loop is one read of up to 64 KiB, all frames of
// it, and one write of all answers.

#if !defined(__linux__)
#include <stdio.h>

int main(void) {
    fputs("the echo server needs Linux (epoll)\n", stderr);
    return 1;
}
#else

#define _GNU_SOURCE
#include "server.h"
#include "tls.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_SIZE = 64 << 10,
    /// Answers of several full reads are collected up to here.
    WRITE_SIZE = 256 << 10,
    ROUNDS = 32,
    /// Reading stops above the first and starts again below the second number of unsent bytes.
    UNSENT_HIGH = 4 << 20,
    UNSENT_LOW = 2 << 20,
    EVENTS = 256,
    HANDSHAKE_MS = 10000,
    CLOSING_MS = 5000,
};

enum phase { PHASE_HANDSHAKE, PHASE_OPEN, PHASE_CLOSING };

/// What a connection waits for. All that wait for the same wait equally long, so each list is in order of deadlines.
enum wait { WAIT_NONE, WAIT_HANDSHAKE, WAIT_PING, WAIT_PONG, WAIT_CLOSE, WAITS };

struct connection {
    int fd;
    uint32_t interest;
    enum phase phase;
    enum wait wait;
    bool paused, blocked, shut;
    int64_t deadline;
    struct connection *previous, *next;
    struct buffer in;
    struct websocket websocket;
    /// NULL without TLS.
    SSL *tls;
    /// NULL on a raw connection.
    struct session *session;
};

static struct {
    int epoll, listener, tls_listener, signals;
    SSL_CTX *tls;
    /// Out of descriptors: accepting starts again when a connection ends.
    bool full;
    int64_t now;
    int64_t durations[WAITS];
    struct connection *first[WAITS], *last[WAITS];
    uint8_t scratch[READ_SIZE];
} server;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// MARK: Deadlines

static void update_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    server.now = (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void set_wait(struct connection *connection, enum wait wait) {
    enum wait old = connection->wait;
    if (old != WAIT_NONE) {
        *(connection->previous == NULL ? &server.first[old] : &connection->previous->next) = connection->next;
        *(connection->next == NULL ? &server.last[old] : &connection->next->previous) = connection->previous;
    }
    connection->wait = wait;
    if (wait == WAIT_NONE) {
        return;
    }
    connection->deadline = server.now + server.durations[wait];
    connection->next = NULL;
    connection->previous = server.last[wait];
    *(connection->previous == NULL ? &server.first[wait] : &connection->previous->next) = connection;
    server.last[wait] = connection;
}

static int time_to_next_deadline(void) {
    int64_t nearest = INT64_MAX;
    for (int wait = WAIT_HANDSHAKE; wait < WAITS; wait++) {
        struct connection *first = server.first[wait];
        nearest = first != NULL && first->deadline < nearest ? first->deadline : nearest;
    }
    if (nearest == INT64_MAX) {
        return -1;
    }
    return nearest <= server.now ? 0 : (int)(nearest - server.now);
}

// MARK: Connections

static void watch(int operation, int fd, uint32_t events, void *pointer) {
    struct epoll_event event = {.events = events, .data.ptr = pointer};
    if (epoll_ctl(server.epoll, operation, fd, &event) != 0) {
        fail("epoll_ctl");
    }
}

static void destroy(struct connection *connection) {
    set_wait(connection, WAIT_NONE);
    tls_free(connection->tls);
    close(connection->fd);
    buffer_release(&connection->in);
    buffer_release(&connection->websocket.out);
    buffer_release(&connection->websocket.fragments);
    free(connection->session);
    free(connection);
    if (server.full) {
        server.full = false;
        watch(EPOLL_CTL_MOD, server.listener, EPOLLIN, &server.listener);
        if (server.tls != NULL) {
            watch(EPOLL_CTL_MOD, server.tls_listener, EPOLLIN, &server.tls_listener);
        }
    }
}

static bool can_fill(const struct connection *connection) {
    return connection->phase == PHASE_OPEN && connection->session != NULL && session_can_fill(connection->session);
}

/// Sends what is queued and pushes floods while the socket takes them; false when the connection is broken.
static bool flush(struct connection *connection) {
    struct buffer *out = &connection->websocket.out;
    connection->blocked = false;
    for (int round = 0; round < ROUNDS; round++) {
        if (can_fill(connection) && !session_fill(connection->session, out, WRITE_SIZE)) {
            return false;
        }
        size_t count = buffer_count(out);
        if (count == 0) {
            break;
        }
        const uint8_t *first = out->bytes + out->start;
        ssize_t sent = connection->tls != NULL ? tls_write(connection->tls, first, count)
                                               : send(connection->fd, first, count, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        if (sent > 0) {
            buffer_consume(out, (size_t)sent);
        }
        // A write over TLS is one record at most.
        if (sent < 0 ? errno == EAGAIN : (size_t)sent < count && connection->tls == NULL) {
            connection->blocked = true;
            break;
        }
    }
    connection->blocked = connection->blocked || buffer_count(out) > 0;
    return true;
}

/// Sends, then asks to be told of just those events that matter now. Ends the connection when it is broken.
static void settle(struct connection *connection) {
    if (connection->phase == PHASE_OPEN && connection->websocket.closing) {
        connection->phase = PHASE_CLOSING;
        set_wait(connection, WAIT_CLOSE);
    }
    if (!flush(connection)) {
        destroy(connection);
        return;
    }
    size_t unsent = buffer_count(&connection->websocket.out);
    if (connection->phase == PHASE_CLOSING && unsent == 0 && !connection->shut) {
        // The peer closes next. Closing first could reset the connection before it has read our last bytes.
        connection->shut = true;
        shutdown(connection->fd, SHUT_WR);
    }
    connection->paused = unsent > (connection->paused ? UNSENT_LOW : UNSENT_HIGH);
    uint32_t interest = connection->paused ? 0 : EPOLLIN;
    if (connection->blocked || can_fill(connection)) {
        interest |= EPOLLOUT;
    }
    if (interest != connection->interest) {
        connection->interest = interest;
        watch(EPOLL_CTL_MOD, connection->fd, interest, connection);
    }
}

static bool open_session(struct connection *connection) {
    connection->session = calloc(1, sizeof(struct session));
    if (connection->session == NULL) {
        return false;
    }
    set_wait(connection, WAIT_PING);
    return session_open(
        connection->session, &connection->websocket, (long)server.durations[WAIT_PING],
        (long)server.durations[WAIT_PONG]);
}

/// Takes the upgrade request; returns how many bytes it was, 0 when more must come.
static size_t take_request(struct connection *connection, uint8_t *bytes, size_t count) {
    struct upgrade upgrade;
    size_t consumed = 0;
    struct buffer *out = &connection->websocket.out;
    enum upgrade_result result = upgrade_parse(bytes, count, &upgrade, &consumed);
    if (result == UPGRADE_MORE) {
        return 0;
    }
    bool serves = result == UPGRADE_GOOD && session_serves(&upgrade);
    const char *refusal = serves ? session_refusal(&upgrade) : NULL;
    if (result == UPGRADE_GOOD && refusal == NULL) {
        connection->phase = PHASE_OPEN;
        set_wait(connection, WAIT_NONE);
        if (upgrade_accept(out, &upgrade) && (!serves || open_session(connection))) {
            return consumed;
        }
    } else if (result == UPGRADE_VERSION) {
        upgrade_refuse(out, "426 Upgrade Required", "{}");
    } else {
        upgrade_refuse(out, "400 Bad Request", refusal == NULL ? "{}" : refusal);
    }
    connection->phase = PHASE_CLOSING;
    set_wait(connection, WAIT_CLOSE);
    return count;
}

/// Takes all that is complete in `bytes`; returns how many bytes it was.
static size_t take_bytes(struct connection *connection, uint8_t *bytes, size_t count) {
    size_t consumed = 0;
    if (connection->phase == PHASE_HANDSHAKE) {
        consumed = take_request(connection, bytes, count);
    }
    if (connection->phase == PHASE_OPEN) {
        consumed += websocket_receive(&connection->websocket, bytes + consumed, count - consumed);
        if (connection->session != NULL && connection->session->pong_received) {
            connection->session->pong_received = false;
            if (connection->wait == WAIT_PONG) {
                set_wait(connection, WAIT_PING);
            }
        }
    }
    return connection->phase == PHASE_CLOSING ? count : consumed;
}

/// Reads once and takes the frames; returns how many bytes came, 0 at the end of the stream, -1 on failure (`errno`).
static ssize_t read_once(struct connection *connection) {
    struct buffer *in = &connection->in;
    // Only the rest of an incomplete frame is kept for a connection; else all share one place to read to.
    bool rest = buffer_count(in) > 0;
    if (rest && !buffer_reserve(in, READ_SIZE)) {
        errno = ENOMEM;
        return -1;
    }
    uint8_t *place = rest ? in->bytes + in->end : server.scratch;
    ssize_t count = connection->tls != NULL ? tls_read(connection->tls, place, READ_SIZE)
                                            : recv(connection->fd, place, READ_SIZE, 0);
    if (count <= 0) {
        return count;
    }
    if (rest) {
        in->end += (size_t)count;
        buffer_consume(in, take_bytes(connection, in->bytes + in->start, buffer_count(in)));
        return count;
    }
    size_t consumed = take_bytes(connection, server.scratch, (size_t)count);
    if (consumed < (size_t)count && !buffer_append(in, server.scratch + consumed, (size_t)count - consumed)) {
        errno = ENOMEM;
        return -1;
    }
    return count;
}

static void on_readable(struct connection *connection) {
    for (int round = 0; round < ROUNDS && buffer_count(&connection->websocket.out) < WRITE_SIZE; round++) {
        ssize_t count = read_once(connection);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
            destroy(connection);
            return;
        }
        if (count < READ_SIZE) {
            break;
        }
    }
    settle(connection);
}

static void on_event(struct connection *connection, uint32_t events) {
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
        destroy(connection);
    } else if ((events & EPOLLIN) != 0) {
        on_readable(connection);
    } else {
        settle(connection);
    }
}

static void on_deadline(struct connection *connection) {
    if (connection->wait == WAIT_PING && session_ping(&connection->websocket)) {
        set_wait(connection, WAIT_PONG);
        settle(connection);
    } else {
        destroy(connection);
    }
}

static void check_deadlines(void) {
    for (int wait = WAIT_HANDSHAKE; wait < WAITS; wait++) {
        while (server.first[wait] != NULL && server.first[wait]->deadline <= server.now) {
            on_deadline(server.first[wait]);
        }
    }
}

static void on_listener(int *listener) {
    for (int round = 0; round < EVENTS; round++) {
        int fd = accept4(*listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                server.full = true;
                watch(EPOLL_CTL_MOD, *listener, 0, listener);
            }
            return;
        }
        struct connection *connection = calloc(1, sizeof(*connection));
        if (connection == NULL) {
            close(fd);
            return;
        }
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        connection->fd = fd;
        connection->tls = listener == &server.tls_listener ? tls_accept(server.tls, fd) : NULL;
        connection->interest = EPOLLIN;
        set_wait(connection, WAIT_HANDSHAKE);
        watch(EPOLL_CTL_ADD, fd, EPOLLIN, connection);
    }
}

// MARK: Start

static int listen_on(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *address;
    int error = getaddrinfo(host, port, &hints, &address);
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", host, gai_strerror(error));
        exit(1);
    }
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, 4096) != 0) {
        fail("listen");
    }
    freeaddrinfo(address);
    return fd;
}

static int port_of(int fd) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        fail("getsockname");
    }
    bool six = address.ss_family == AF_INET6;
    return ntohs(six ? ((struct sockaddr_in6 *)&address)->sin6_port : ((struct sockaddr_in *)&address)->sin_port);
}

static int open_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static bool input_ended(void) {
    char bytes[4096];
    ssize_t count = read(STDIN_FILENO, bytes, sizeof(bytes));
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

static void watch_input(void) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (epoll_ctl(server.epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) == 0) {
        return;
    }
    // A file or the null device cannot be watched; it ends without anybody's doing.
    while (!input_ended()) {
    }
    exit(0);
}

/// Serves until told to stop. What is watched is told apart by its pointer; the standard input has none.
static void serve(void) {
    struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(server.epoll, events, EVENTS, time_to_next_deadline());
        update_now();
        for (int index = 0; index < count; index++) {
            void *pointer = events[index].data.ptr;
            if (pointer == &server.listener || pointer == &server.tls_listener) {
                on_listener(pointer);
            } else if (pointer == &server.signals) {
                return;
            } else if (pointer == NULL) {
                if (input_ended()) {
                    return;
                }
            } else {
                on_event(pointer, events[index].events);
            }
        }
        check_deadlines();
    }
}

static int64_t milliseconds(const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || value < 1 || value > 86400000) {
        fprintf(stderr, "not a number of milliseconds: %s\n", text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},          {"host", required_argument, NULL, 'h'},
        {"ping-interval", required_argument, NULL, 'i'}, {"ping-timeout", required_argument, NULL, 't'},
        {"certificate", required_argument, NULL, 'c'},   {"until-eof", no_argument, NULL, 'e'},
        {0},
    };
    const char *port = "0", *host = "127.0.0.1", *certificate = NULL;
    bool until_end = false;
    int64_t durations[WAITS] = {0, HANDSHAKE_MS, 25000, 20000, CLOSING_MS};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'p': port = optarg; break;
        case 'h': host = optarg; break;
        case 'i': durations[WAIT_PING] = milliseconds(optarg); break;
        case 't': durations[WAIT_PONG] = milliseconds(optarg); break;
        case 'c': certificate = optarg; break;
        case 'e': until_end = true; break;
        default:
            fprintf(stderr,
                "usage: %s [--host H] [--port N] [--ping-interval MS] [--ping-timeout MS] [--certificate FILE] "
                "[--until-eof]\n--certificate serves TLS at another port, and writes the certificate to FILE\n",
                argv[0]);
            return 2;
        }
    }
    memcpy(server.durations, durations, sizeof(durations));
    // OpenSSL writes without a flag against it.
    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
#if defined(__GLIBC__)
    // Mapping a large buffer anew for each message would cost more than filling it.
    mallopt(M_MMAP_THRESHOLD, BUFFER_LIMIT);
    mallopt(M_TRIM_THRESHOLD, 4 * BUFFER_LIMIT);
#endif
    update_now();
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    server.signals = open_signals();
    server.listener = listen_on(host, port);
    watch(EPOLL_CTL_ADD, server.signals, EPOLLIN, &server.signals);
    watch(EPOLL_CTL_ADD, server.listener, EPOLLIN, &server.listener);
    if (certificate != NULL) {
        server.tls = tls_open(certificate);
        if (server.tls == NULL) {
            fail(certificate);
        }
        server.tls_listener = listen_on(host, "0");
        watch(EPOLL_CTL_ADD, server.tls_listener, EPOLLIN, &server.tls_listener);
        printf("listening %d %d\n", port_of(server.listener), port_of(server.tls_listener));
    } else {
        printf("listening %d\n", port_of(server.listener));
    }
    fflush(stdout);
    if (until_end) {
        watch_input();
    }
    serve();
    return 0;
}

#endif

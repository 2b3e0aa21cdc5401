// The floor: what a client costs that is nothing but a socket, a frame codec and the least of Socket.IO.
//
//     floor PORT W1|W2|W3|W4|W7|W8|idle=N
//
// One thread, epoll, one read and one write a turn. It checks what the workload demands and no more: no UTF-8, no JSON
// beyond the bytes that are looked for, no time-outs. It prints lines in the form of the workloads.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 64 << 10, TEXT = 1, BINARY = 2 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static double cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void *check(void *memory) {
    if (!memory) fail("memory");
    return memory;
}

// MARK: A connection

struct buffer {
    uint8_t *bytes;
    size_t start, end, capacity;
};

static void reserve(struct buffer *buffer, size_t extra) {
    if (buffer->start == buffer->end) buffer->start = buffer->end = 0;
    if (buffer->capacity - buffer->end >= extra) return;
    memmove(buffer->bytes, buffer->bytes + buffer->start, buffer->end - buffer->start);
    buffer->end -= buffer->start;
    buffer->start = 0;
    if (buffer->capacity - buffer->end >= extra) return;
    while (buffer->capacity - buffer->end < extra) buffer->capacity = buffer->capacity ? buffer->capacity * 2 : READ_SIZE;
    buffer->bytes = check(realloc(buffer->bytes, buffer->capacity));
}

struct client {
    int descriptor;
    struct buffer in, out;
    uint32_t masks[1024];
    unsigned used;
};

/// Called for each message.
typedef void handler(struct client *client, int opcode, const uint8_t *bytes, size_t count);

static void append(struct client *client, const void *bytes, size_t count) {
    reserve(&client->out, count);
    memcpy(client->out.bytes + client->out.end, bytes, count);
    client->out.end += count;
}

static void flush(struct client *client) {
    while (client->out.start < client->out.end) {
        ssize_t count = send(
            client->descriptor, client->out.bytes + client->out.start, client->out.end - client->out.start, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) return;
        if (count < 0) fail("send");
        client->out.start += (size_t)count;
    }
}

/// Appends a masked frame.
static void frame(struct client *client, int opcode, const void *bytes, size_t count) {
    if (client->used % 1024 == 0 && getrandom(client->masks, sizeof client->masks, 0) < 0) fail("getrandom");
    uint32_t mask = client->masks[client->used++ % 1024];
    uint8_t head[14] = {(uint8_t)(0x80 | opcode)};
    size_t size = 2;
    if (count < 126) {
        head[1] = (uint8_t)(0x80 | count);
    } else if (count < 65536) {
        head[1] = 0x80 | 126;
        head[2] = (uint8_t)(count >> 8), head[3] = (uint8_t)count;
        size = 4;
    } else {
        head[1] = 0x80 | 127;
        for (int index = 0; index < 8; index++) head[2 + index] = (uint8_t)(count >> (56 - 8 * index));
        size = 10;
    }
    memcpy(head + size, &mask, 4);
    append(client, head, size + 4);
    reserve(&client->out, count + 8);
    uint8_t *to = client->out.bytes + client->out.end;
    const uint8_t *from = bytes;
    uint64_t wide = (uint64_t)mask << 32 | mask;
    size_t index = 0;
    for (; index + 8 <= count; index += 8) {
        uint64_t word;
        memcpy(&word, from + index, 8);
        word ^= wide;
        memcpy(to + index, &word, 8);
    }
    for (; index < count; index++) to[index] = from[index] ^ ((const uint8_t *)&mask)[index % 4];
    client->out.end += count;
}

/// Reads once and calls the handler for each whole message.
static bool receive(struct client *client, handler *handle) {
    reserve(&client->in, READ_SIZE);
    ssize_t count = recv(client->descriptor, client->in.bytes + client->in.end, client->in.capacity - client->in.end, 0);
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) fail("recv");
    client->in.end += (size_t)count;
    while (client->in.end - client->in.start >= 2) {
        const uint8_t *head = client->in.bytes + client->in.start;
        size_t left = client->in.end - client->in.start, size = 2, length = head[1] & 127;
        if (length == 126) {
            if (left < 4) break;
            length = (size_t)head[2] << 8 | head[3], size = 4;
        } else if (length == 127) {
            if (left < 10) break;
            length = 0, size = 10;
            for (int index = 0; index < 8; index++) length = length << 8 | head[2 + index];
        }
        if (left < size + length) {
            reserve(&client->in, size + length - left);
            break;
        }
        client->in.start += size + length;
        handle(client, head[0] & 15, head + size, length);
    }
    return true;
}

static struct client *dial(int port, const char *target) {
    struct client *client = check(calloc(1, sizeof *client));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->descriptor < 0) fail("socket");
    if (connect(client->descriptor, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    int on = 1;
    setsockopt(client->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    char request[512];
    int size = snprintf(
        request, sizeof request,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n", target, port);
    append(client, request, (size_t)size);
    flush(client);
    // The answer's head, byte by byte: what follows belongs to the frames.
    for (uint32_t last = 0; last != 0x0D0A0D0A;) {
        uint8_t byte;
        if (recv(client->descriptor, &byte, 1, 0) != 1) fail("handshake");
        last = last << 8 | byte;
    }
    return client;
}

// MARK: A loop

static int poller;

static void watch(struct client *client) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, client->descriptor, &event) < 0) fail("epoll_ctl");
}

static bool isDone;

/// Handles what comes until `isDone` is set.
static void run(handler *handle) {
    isDone = false;
    while (!isDone) {
        struct epoll_event events[64];
        int count = epoll_wait(poller, events, 64, -1);
        for (int index = 0; index < count; index++) {
            struct client *client = events[index].data.ptr;
            // What did not leave is tried again with the next read: the server reads as fast as it answers.
            receive(client, handle);
            flush(client);
        }
    }
}

static void untilOpen(struct client *client, int opcode, const uint8_t *bytes, size_t count) {
    if (opcode != TEXT || count < 1) return;
    if (bytes[0] == '0') frame(client, TEXT, "40", 2);
    if (bytes[0] == '4' && count > 1 && bytes[1] == '0') isDone = true;
}

static struct client *socketIO(int port, unsigned number) {
    char target[64];
    snprintf(target, sizeof target, "/socket.io/?EIO=4&transport=websocket&n=%u", number);
    struct client *client = dial(port, target);
    watch(client);
    run(untilOpen);
    return client;
}

// MARK: Workloads

static struct {
    const char *name;
    size_t wanted, sent, received;
    int64_t sum;
    char text[128];
    size_t textSize;
    uint8_t *payload;
    size_t payloadSize;
    double *latencies, started;
} work;

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static void report(double elapsed, double used) {
    printf("%-12s%14.0f%16.3f%16.3f", work.name, (double)work.wanted / elapsed * 1e6, used / (double)work.wanted, 0.0);
    if (work.latencies) {
        qsort(work.latencies, work.wanted, sizeof *work.latencies, ascending);
        printf("%16.1f%16.1f", work.latencies[work.wanted / 2], work.latencies[work.wanted * 99 / 100]);
    }
    printf("\n");
}

static bool isPing(struct client *client, const uint8_t *bytes, size_t count) {
    if (count != 1 || bytes[0] != '2') return false;
    frame(client, TEXT, "3", 1);
    return true;
}

static void sendEcho(struct client *client) {
    if (work.sent++ < work.wanted) frame(client, TEXT, work.text, work.textSize);
}

static void cameBack(void) { if (++work.received == work.wanted) isDone = true; }

static void handleEcho(struct client *client, int opcode, const uint8_t *bytes, size_t count) {
    if (opcode != TEXT || isPing(client, bytes, count)) return;
    // 42["echo","x…"]
    if (count != work.textSize || memcmp(bytes, "42[\"echo\",", 10)) return;
    sendEcho(client);
    cameBack();
}

static void sendRaw(struct client *client) {
    if (work.sent++ < work.wanted) frame(client, BINARY, work.payload, work.payloadSize);
}

static void handleRaw(struct client *client, int opcode, const uint8_t *bytes, size_t count) {
    (void)bytes;
    if (opcode != BINARY || count != work.payloadSize) return;
    sendRaw(client);
    cameBack();
}

static void sendBinary(struct client *client) {
    static const char head[] = "451-[\"echo\",{\"_placeholder\":true,\"num\":0}]";
    if (work.sent++ >= work.wanted) return;
    frame(client, TEXT, head, sizeof head - 1);
    frame(client, BINARY, work.payload, work.payloadSize);
}

static void handleBinary(struct client *client, int opcode, const uint8_t *bytes, size_t count) {
    if (opcode == TEXT) isPing(client, bytes, count);
    if (opcode != BINARY || count != work.payloadSize) return;
    sendBinary(client);
    cameBack();
}

static void handleFlood(struct client *client, int opcode, const uint8_t *bytes, size_t count) {
    if (opcode != TEXT || isPing(client, bytes, count) || count < 16 || memcmp(bytes, "42[\"item\",", 10)) return;
    const uint8_t *id = memmem(bytes, count, "\"id\":", 5);
    if (!id) return;
    int64_t value = 0;
    for (id += 5; *id >= '0' && *id <= '9'; id++) value = value * 10 + (*id - '0');
    work.sum += value;
    cameBack();
}

static void sendRequest(struct client *client) {
    char packet[128];
    int size = snprintf(packet, sizeof packet, "42%zu[\"req\",%zu,\"%s\"]", work.sent, work.sent, work.text);
    work.started = now();
    work.sent++;
    frame(client, TEXT, packet, (size_t)size);
}

static void handleReply(struct client *client, int opcode, const uint8_t *bytes, size_t count) {
    if (opcode != TEXT || isPing(client, bytes, count) || count < 4 || memcmp(bytes, "43", 2)) return;
    size_t number = strtoull((const char *)bytes + 2, NULL, 10);
    const uint8_t *list = memchr(bytes, '[', count);
    if (!list || number != work.received || strtoull((const char *)list + 1, NULL, 10) != number) fail("a wrong reply");
    work.latencies[work.received] = now() - work.started;
    if (work.received + 1 < work.wanted) sendRequest(client);
    cameBack();
}

static void measure(struct client *client, const char *name, size_t count, size_t width,
    void (*send)(struct client *), handler *handle) {
    bool isTimed = handle == handleReply;
    for (int round = 0; round < 2; round++) {
        work.name = name;
        work.wanted = round ? count : count / 20;
        work.sent = work.received = 0;
        work.sum = 0;
        work.latencies = isTimed ? check(calloc(work.wanted, sizeof *work.latencies)) : NULL;
        double start = now(), used = cpu();
        if (handle == handleFlood) {
            char packet[64];
            int size = snprintf(packet, sizeof packet, "42[\"flood\",{\"n\":%zu,\"bytes\":100}]", work.wanted);
            frame(client, TEXT, packet, (size_t)size);
        } else {
            for (size_t index = 0; index < width; index++) send(client);
        }
        flush(client);
        run(handle);
        if (round) report(now() - start, cpu() - used);
        int64_t sum = (int64_t)work.wanted * ((int64_t)work.wanted - 1) / 2;
        if (handle == handleFlood && work.sum != sum) fail("a wrong sum");
        free(work.latencies);
    }
}

static void payload(size_t size) {
    work.payload = check(malloc(size));
    work.payloadSize = size;
    memset(work.payload, 7, size);
}

static void text(const char *format) {
    char letters[65];
    memset(letters, 'x', 64);
    letters[64] = 0;
    work.textSize = (size_t)snprintf(work.text, sizeof work.text, format, letters);
}

int main(int count, char **arguments) {
    if (count < 3) {
        fputs("floor PORT WORKLOAD …\n", stderr);
        return 1;
    }
    int port = atoi(arguments[1]);
    for (int index = 2; index < count; index++) {
        const char *name = arguments[index];
        poller = epoll_create1(EPOLL_CLOEXEC);
        if (!strcmp(name, "W1")) {
            text("42[\"echo\",\"%s\"]");
            measure(socketIO(port, 0), name, 200000, 64, sendEcho, handleEcho);
        } else if (!strcmp(name, "W2")) {
            text("%s");
            measure(socketIO(port, 0), name, 50000, 1, sendRequest, handleReply);
        } else if (!strcmp(name, "W3")) {
            measure(socketIO(port, 0), name, 1000000, 0, NULL, handleFlood);
        } else if (!strcmp(name, "W4")) {
            payload(64 << 10);
            measure(socketIO(port, 0), name, 5000, 4, sendBinary, handleBinary);
        } else if (!strcmp(name, "W7") || !strcmp(name, "W8")) {
            bool isLarge = name[1] == '8';
            payload(isLarge ? 1 << 20 : 64);
            struct client *client = dial(port, "/raw");
            watch(client);
            measure(client, name, isLarge ? 500 : 500000, isLarge ? 1 : 64, sendRaw, handleRaw);
        } else if (!strncmp(name, "idle=", 5)) {
            unsigned idle = (unsigned)atoi(name + 5);
            for (unsigned number = 1; number <= idle; number++) socketIO(port, number);
            text("%s");
            measure(socketIO(port, 0), name, 5000, 1, sendRequest, handleReply);
        } else {
            fprintf(stderr, "there is no workload %s\n", name);
            return 1;
        }
        close(poller);
    }
    return 0;
}

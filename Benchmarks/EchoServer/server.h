// The protocol parts of the server. None of them knows a socket: bytes come in, answers are queued in a buffer.

#ifndef ECHO_SERVER_H
#define ECHO_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /// Largest message, whole or in fragments, and so largest frame.
    MESSAGE_LIMIT = 16 << 20,
    /// Largest capacity of any buffer: one message beside everything that may be unsent before reading stops.
    BUFFER_LIMIT = 32 << 20,
    /// Capacity an empty buffer may keep; a larger one is given back.
    BUFFER_KEPT = 2 << 20,
    REQUEST_LIMIT = 16 << 10,
};

// MARK: Buffer

/// A queue of bytes in one block; `start..<end` is alive.
struct buffer {
    uint8_t *bytes;
    size_t start, end, capacity;
};

static inline size_t buffer_count(const struct buffer *buffer) { return buffer->end - buffer->start; }

/// Makes room for `extra` bytes after `end`; false when that breaks `BUFFER_LIMIT` or memory is short.
bool buffer_reserve(struct buffer *buffer, size_t extra);
bool buffer_append(struct buffer *buffer, const void *bytes, size_t count);
void buffer_consume(struct buffer *buffer, size_t count);
void buffer_release(struct buffer *buffer);

static inline uint64_t big_endian(const uint8_t *bytes, unsigned width) {
    uint64_t value = 0;
    for (unsigned index = 0; index < width; index++) {
        value = value << 8 | bytes[index];
    }
    return value;
}

// MARK: WebSocket

enum opcode {
    OPCODE_CONTINUATION = 0,
    OPCODE_TEXT = 1,
    OPCODE_BINARY = 2,
    OPCODE_CLOSE = 8,
    OPCODE_PING = 9,
    OPCODE_PONG = 10,
};

enum close_code {
    CLOSE_NONE = 0,
    CLOSE_NORMAL = 1000,
    CLOSE_PROTOCOL_ERROR = 1002,
    CLOSE_POLICY = 1008,
    CLOSE_TOO_BIG = 1009,
    CLOSE_INTERNAL = 1011,
};

struct websocket;

/// Takes one whole message, unmasked; answers go to `websocket->out`. Anything but `CLOSE_NONE` closes.
typedef enum close_code message_handler(
    struct websocket *websocket, void *context, enum opcode opcode, const uint8_t *payload, size_t length);

struct websocket {
    struct buffer out;
    struct buffer fragments;
    /// Opcode of the fragmented message under way, else 0.
    uint8_t fragmented;
    /// Our Close frame is queued: nothing is read or answered any more.
    bool closing;
    /// NULL echoes every message.
    message_handler *handler;
    void *context;
};

/// Takes all complete frames of `bytes`, which it unmasks in place, and returns how many bytes they were.
size_t websocket_receive(struct websocket *websocket, uint8_t *bytes, size_t count);

/// Writes the header of an unfragmented frame to a place with at least 10 bytes; returns its size.
size_t websocket_header(uint8_t *destination, enum opcode opcode, size_t length);
bool websocket_send(struct websocket *websocket, enum opcode opcode, const void *payload, size_t length);
void websocket_close(struct websocket *websocket, enum close_code code);

// MARK: Opening handshake

/// The parts of an upgrade request that matter to the server; they point into the request.
struct upgrade {
    const char *target;
    size_t target_length;
    const char *key;
};

enum upgrade_result { UPGRADE_MORE, UPGRADE_BAD, UPGRADE_VERSION, UPGRADE_GOOD };

/// Reads an HTTP request; with any result but `UPGRADE_MORE`, `*consumed` is its size.
enum upgrade_result upgrade_parse(const uint8_t *bytes, size_t count, struct upgrade *upgrade, size_t *consumed);
/// Queues the 101 answer (RFC 6455 section 4.2.2).
bool upgrade_accept(struct buffer *out, const struct upgrade *upgrade);
bool upgrade_refuse(struct buffer *out, const char *status, const char *body);

/// Base64 with the given last two digits; the destination needs `(count + 2) / 3 * 4` bytes, padding included.
void base64(const uint8_t *source, size_t count, char *destination, const char last_digits[2]);

// MARK: Socket.IO

enum {
    FLOODS_LIMIT = 4,
    ATTACHMENTS_LIMIT = 10,
    /// Room for a namespace and its comma.
    NAMESPACE_LIMIT = 64,
    PAD_LIMIT = 1 << 20,
};

/// Items still to be pushed.
struct flood {
    uint64_t next, total;
    size_t bytes;
    size_t namespace_length;
    char namespace[NAMESPACE_LIMIT];
};

/// One Engine.IO session (protocol 4) and the Socket.IO (protocol 5) namespaces on it.
struct session {
    /// The one under way first.
    struct flood floods[FLOODS_LIMIT];
    unsigned flood_count;
    /// Binary messages that belong to the last packet and have not arrived.
    unsigned attachments;
    /// They are answered, not ignored.
    bool attachments_wanted;
    /// A namespace was connected: events are allowed.
    bool connected;
    /// Set for the owner of the timers, who clears it.
    bool pong_received;
};

/// Whether an upgrade's target names the Socket.IO endpoint, with whatever query.
bool session_serves(const struct upgrade *upgrade);
/// The body of a refusal, as Socket.IO's own server words it, or NULL when the query is right.
const char *session_refusal(const struct upgrade *upgrade);
/// Queues the open packet and becomes the handler of the connection's messages.
bool session_open(struct session *session, struct websocket *websocket, long interval_ms, long timeout_ms);
bool session_ping(struct websocket *websocket);
/// Whether `session_fill` has something to push now.
bool session_can_fill(const struct session *session);
/// Pushes items of the running floods until about `budget` bytes are unsent.
bool session_fill(struct session *session, struct buffer *out, size_t budget);

#endif

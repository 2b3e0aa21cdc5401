// The server's half of RFC 6455 after the opening handshake, and the buffers of all the server.

#include "server.h"

#include <stdlib.h>
#include <string.h>

// MARK: Buffer

static void buffer_compact(struct buffer *buffer) {
    size_t count = buffer_count(buffer);
    if (buffer->start > 0 && count > 0) {
        memmove(buffer->bytes, buffer->bytes + buffer->start, count);
    }
    buffer->start = 0;
    buffer->end = count;
}

bool buffer_reserve(struct buffer *buffer, size_t extra) {
    if (buffer->bytes != NULL && buffer->capacity - buffer->end >= extra) {
        return true;
    }
    size_t count = buffer_count(buffer);
    if (extra > BUFFER_LIMIT - count) {
        return false;
    }
    // Moving no more bytes than were consumed keeps the cost of moving below one copy per byte.
    bool cheap = buffer->start >= count;
    buffer_compact(buffer);
    if (cheap && buffer->capacity - count >= extra) {
        return true;
    }
    size_t capacity = buffer->capacity < 256 ? 256 : buffer->capacity;
    while (capacity < count + extra) {
        capacity *= 2;
    }
    if (capacity > buffer->capacity) {
        uint8_t *bytes = realloc(buffer->bytes, capacity);
        if (bytes == NULL) {
            return false;
        }
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    return true;
}

bool buffer_append(struct buffer *buffer, const void *bytes, size_t count) {
    if (!buffer_reserve(buffer, count)) {
        return false;
    }
    if (count > 0) {
        memcpy(buffer->bytes + buffer->end, bytes, count);
    }
    buffer->end += count;
    return true;
}

void buffer_consume(struct buffer *buffer, size_t count) {
    buffer->start += count;
    if (buffer->start < buffer->end) {
        return;
    }
    buffer->start = buffer->end = 0;
    if (buffer->capacity > BUFFER_KEPT) {
        buffer_release(buffer);
    }
}

void buffer_release(struct buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

// MARK: Sending

size_t websocket_header(uint8_t *destination, enum opcode opcode, size_t length) {
    destination[0] = 0x80 | (uint8_t)opcode;
    if (length < 126) {
        destination[1] = (uint8_t)length;
        return 2;
    }
    bool small = length <= UINT16_MAX;
    unsigned width = small ? 2 : 8;
    destination[1] = small ? 126 : 127;
    for (unsigned index = 0; index < width; index++) {
        destination[2 + index] = (uint8_t)((uint64_t)length >> (8 * (width - 1 - index)));
    }
    return 2 + width;
}

/// Queues a frame's header and makes room for its payload, which the caller must write at the place returned.
static uint8_t *begin_frame(struct websocket *websocket, enum opcode opcode, size_t length) {
    struct buffer *out = &websocket->out;
    if (!buffer_reserve(out, length + 10)) {
        return NULL;
    }
    uint8_t *header = out->bytes + out->end;
    size_t size = websocket_header(header, opcode, length);
    out->end += size + length;
    return header + size;
}

bool websocket_send(struct websocket *websocket, enum opcode opcode, const void *payload, size_t length) {
    uint8_t *destination = begin_frame(websocket, opcode, length);
    if (destination == NULL) {
        return false;
    }
    if (length > 0) {
        memcpy(destination, payload, length);
    }
    return true;
}

void websocket_close(struct websocket *websocket, enum close_code code) {
    if (websocket->closing) {
        return;
    }
    websocket->closing = true;
    uint8_t payload[2] = {(uint8_t)(code >> 8), (uint8_t)code};
    websocket_send(websocket, OPCODE_CLOSE, payload, code == CLOSE_NONE ? 0 : 2);
}

// MARK: Receiving

struct frame {
    bool final;
    uint8_t opcode;
    uint8_t mask[4];
    uint8_t *payload;
    size_t length;
};

/// 16 bytes at once also where the compiler would not vectorise by itself; the loop costs more than all parsing.
typedef uint8_t lane __attribute__((vector_size(16)));

/// Exclusive-or with the mask; both places may be the same.
static void unmask(uint8_t *destination, const uint8_t *source, size_t length, const uint8_t mask[4]) {
    size_t index = 0;
    if (length >= sizeof(lane)) {
        lane key;
        for (size_t byte = 0; byte < sizeof(lane); byte++) {
            key[byte] = mask[byte & 3];
        }
        for (; index + sizeof(lane) <= length; index += sizeof(lane)) {
            lane part;
            memcpy(&part, source + index, sizeof(lane));
            part ^= key;
            memcpy(destination + index, &part, sizeof(lane));
        }
    }
    for (; index < length; index++) {
        destination[index] = source[index] ^ mask[index & 3];
    }
}

/// Reads one frame of `bytes`; returns its size, or 0 when it is not complete or `*error` was set.
static size_t parse_frame(uint8_t *bytes, size_t count, struct frame *frame, enum close_code *error) {
    if (count < 2) {
        return 0;
    }
    // No extension is negotiated, so the reserved bits are clear, and clients always mask.
    if ((bytes[0] & 0x70) != 0 || (bytes[1] & 0x80) == 0) {
        *error = CLOSE_PROTOCOL_ERROR;
        return 0;
    }
    frame->final = (bytes[0] & 0x80) != 0;
    frame->opcode = bytes[0] & 0x0f;
    uint64_t length = bytes[1] & 0x7f;
    if (frame->opcode >= OPCODE_CLOSE && (length > 125 || !frame->final)) {
        *error = CLOSE_PROTOCOL_ERROR;
        return 0;
    }
    size_t header = 6;
    if (length >= 126) {
        unsigned width = length == 126 ? 2 : 8;
        if (count < 2 + width) {
            return 0;
        }
        length = big_endian(bytes + 2, width);
        header += width;
    }
    if (length > MESSAGE_LIMIT) {
        *error = CLOSE_TOO_BIG;
        return 0;
    }
    if (count < header || count - header < length) {
        return 0;
    }
    memcpy(frame->mask, bytes + header - 4, 4);
    frame->payload = bytes + header;
    frame->length = (size_t)length;
    return header + (size_t)length;
}

static enum close_code take_message(struct websocket *websocket, const struct frame *frame) {
    if (websocket->handler == NULL) {
        uint8_t *destination = begin_frame(websocket, (enum opcode)frame->opcode, frame->length);
        if (destination == NULL) {
            return CLOSE_INTERNAL;
        }
        unmask(destination, frame->payload, frame->length, frame->mask);
        return CLOSE_NONE;
    }
    unmask(frame->payload, frame->payload, frame->length, frame->mask);
    return websocket->handler(
        websocket, websocket->context, (enum opcode)frame->opcode, frame->payload, frame->length);
}

static enum close_code take_fragment(struct websocket *websocket, const struct frame *frame) {
    struct buffer *fragments = &websocket->fragments;
    if (frame->length > MESSAGE_LIMIT - buffer_count(fragments)) {
        return CLOSE_TOO_BIG;
    }
    if (!buffer_reserve(fragments, frame->length)) {
        return CLOSE_INTERNAL;
    }
    unmask(fragments->bytes + fragments->end, frame->payload, frame->length, frame->mask);
    fragments->end += frame->length;
    if (!frame->final) {
        return CLOSE_NONE;
    }
    struct frame message = {
        .final = true,
        .opcode = websocket->fragmented,
        .payload = fragments->bytes,
        .length = buffer_count(fragments),
    };
    enum close_code code = take_message(websocket, &message);
    websocket->fragmented = 0;
    buffer_consume(fragments, buffer_count(fragments));
    return code;
}

static enum close_code take_close(struct websocket *websocket, const struct frame *frame) {
    if (frame->length == 1) {
        return CLOSE_PROTOCOL_ERROR;
    }
    unmask(frame->payload, frame->payload, frame->length, frame->mask);
    websocket->closing = true;
    bool sent = websocket_send(websocket, OPCODE_CLOSE, frame->payload, frame->length < 2 ? 0 : 2);
    return sent ? CLOSE_NONE : CLOSE_INTERNAL;
}

static enum close_code take_frame(struct websocket *websocket, const struct frame *frame) {
    switch (frame->opcode) {
    case OPCODE_TEXT:
    case OPCODE_BINARY:
        if (websocket->fragmented != 0) {
            return CLOSE_PROTOCOL_ERROR;
        }
        if (frame->final) {
            return take_message(websocket, frame);
        }
        websocket->fragmented = frame->opcode;
        return take_fragment(websocket, frame);
    case OPCODE_CONTINUATION:
        return websocket->fragmented == 0 ? CLOSE_PROTOCOL_ERROR : take_fragment(websocket, frame);
    case OPCODE_PING:
        unmask(frame->payload, frame->payload, frame->length, frame->mask);
        return websocket_send(websocket, OPCODE_PONG, frame->payload, frame->length) ? CLOSE_NONE : CLOSE_INTERNAL;
    case OPCODE_PONG:
        return CLOSE_NONE;
    case OPCODE_CLOSE:
        return take_close(websocket, frame);
    default:
        return CLOSE_PROTOCOL_ERROR;
    }
}

size_t websocket_receive(struct websocket *websocket, uint8_t *bytes, size_t count) {
    size_t consumed = 0;
    while (!websocket->closing) {
        struct frame frame;
        enum close_code code = CLOSE_NONE;
        size_t size = parse_frame(bytes + consumed, count - consumed, &frame, &code);
        if (size > 0) {
            consumed += size;
            code = take_frame(websocket, &frame);
        }
        if (code != CLOSE_NONE) {
            websocket_close(websocket, code);
        } else if (size == 0) {
            return consumed;
        }
    }
    return count;
}

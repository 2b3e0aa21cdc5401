// Engine.IO 4 and Socket.IO 5 over WebSocket: what a session answers to each message.

#define _GNU_SOURCE
#include "server.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

// MARK: Opening

static const char endpoint[] = "/socket.io/";

bool session_serves(const struct upgrade *upgrade) {
    size_t length = sizeof(endpoint) - 1;
    if (upgrade->target_length < length || memcmp(upgrade->target, endpoint, length) != 0) {
        return false;
    }
    return upgrade->target_length == length || upgrade->target[length] == '?';
}

/// Whether the query behind the endpoint has the item: `name=value`, or `name=` for any value.
static bool has_item(const struct upgrade *upgrade, const char *item) {
    const char *place = upgrade->target + sizeof(endpoint) - 1, *end = upgrade->target + upgrade->target_length;
    place += place < end ? 1 : 0;
    size_t length = strlen(item);
    while (place < end) {
        const char *next = memchr(place, '&', (size_t)(end - place));
        size_t count = (size_t)((next == NULL ? end : next) - place);
        bool whole = count == length || item[length - 1] == '=';
        if (count >= length && whole && memcmp(place, item, length) == 0) {
            return true;
        }
        place += count + 1;
    }
    return false;
}

const char *session_refusal(const struct upgrade *upgrade) {
    if (!has_item(upgrade, "transport=websocket")) {
        return "{\"code\":0,\"message\":\"Transport unknown\"}";
    }
    if (has_item(upgrade, "sid=")) {
        return "{\"code\":1,\"message\":\"Session ID unknown\"}";
    }
    return has_item(upgrade, "EIO=4") ? NULL : "{\"code\":5,\"message\":\"Unsupported protocol version\"}";
}

static bool make_identifier(char identifier[20]) {
    uint8_t bytes[15];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return false;
    }
    base64(bytes, sizeof(bytes), identifier, "-_");
    return true;
}

bool session_ping(struct websocket *websocket) { return websocket_send(websocket, OPCODE_TEXT, "2", 1); }

// MARK: Packets

struct packet {
    char type;
    unsigned attachments;
    /// With its comma; empty for the main namespace.
    const char *namespace;
    size_t namespace_length;
    /// Digits; empty when no ack is wanted.
    const char *identifier;
    size_t identifier_length;
    const char *data;
    size_t data_length;
};

static bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// Splits `<type>[<n>-][<namespace>,][<id>][data]`.
static bool parse_packet(const char *text, size_t length, struct packet *packet) {
    const char *place = text, *end = text + length;
    if (place == end || *place < '0' || *place > '6') {
        return false;
    }
    *packet = (struct packet){.type = *place++};
    if (packet->type >= '5') {
        const char *first = place;
        while (place < end && is_digit(*place) && packet->attachments <= ATTACHMENTS_LIMIT) {
            packet->attachments = packet->attachments * 10 + (unsigned)(*place++ - '0');
        }
        if (place == first || place == end || *place++ != '-' || packet->attachments > ATTACHMENTS_LIMIT) {
            return false;
        }
    }
    if (place < end && *place == '/') {
        // A CONNECT may have the namespace as its last part, without a comma.
        const char *comma = memchr(place, ',', (size_t)(end - place));
        packet->namespace = place;
        place = comma == NULL ? end : comma + 1;
        packet->namespace_length = (size_t)(place - packet->namespace);
        if (packet->namespace_length >= NAMESPACE_LIMIT) {
            return false;
        }
    }
    packet->identifier = place;
    while (place < end && is_digit(*place)) {
        place++;
    }
    packet->identifier_length = (size_t)(place - packet->identifier);
    packet->data = place;
    packet->data_length = (size_t)(end - place);
    return packet->identifier_length <= 20;
}

/// The name of an event and, after the name's comma, its arguments with the closing bracket.
struct event {
    const char *name;
    size_t name_length;
    const char *arguments;
    size_t arguments_length;
};

static const char *skip_space(const char *place, const char *end) {
    while (place < end && (*place == ' ' || *place == '\t' || *place == '\n' || *place == '\r')) {
        place++;
    }
    return place;
}

static bool parse_event(const struct packet *packet, struct event *event) {
    const char *end = packet->data + packet->data_length;
    const char *place = skip_space(packet->data, end);
    if (place == end || *place++ != '[') {
        return false;
    }
    place = skip_space(place, end);
    if (place == end || *place++ != '"') {
        return false;
    }
    event->name = place;
    while (place < end && *place != '"') {
        place += *place == '\\' ? 2 : 1;
    }
    if (place >= end) {
        return false;
    }
    event->name_length = (size_t)(place - event->name);
    place = skip_space(place + 1, end);
    if (place == end || (*place != ',' && *place != ']')) {
        return false;
    }
    event->arguments = *place == ',' ? place + 1 : place;
    event->arguments_length = (size_t)(end - event->arguments);
    return true;
}

static bool is_named(const struct event *event, const char *name) {
    return event->name_length == strlen(name) && memcmp(event->name, name, event->name_length) == 0;
}

/// The whole number behind `"key":`, at most `limit`; 0 when there is none.
static uint64_t number_of(const struct event *event, const char *key, uint64_t limit) {
    const char *end = event->arguments + event->arguments_length;
    const char *place = memmem(event->arguments, event->arguments_length, key, strlen(key));
    if (place == NULL) {
        return 0;
    }
    place = skip_space(place + strlen(key), end);
    if (place == end || *place++ != ':') {
        return 0;
    }
    uint64_t value = 0;
    for (place = skip_space(place, end); place < end && is_digit(*place) && value < limit; place++) {
        value = value * 10 + (uint64_t)(*place - '0');
    }
    return value < limit ? value : limit;
}

// MARK: Answers

static enum close_code answer_connect(
    struct session *session, struct websocket *websocket, const struct packet *packet) {
    char text[NAMESPACE_LIMIT + 64], identifier[20];
    bool comma = packet->namespace_length > 0 && packet->namespace[packet->namespace_length - 1] != ',';
    if (!make_identifier(identifier)) {
        return CLOSE_INTERNAL;
    }
    int length = snprintf(
        text, sizeof(text), "40%.*s%s{\"sid\":\"%.20s\"}", (int)packet->namespace_length,
        packet->namespace_length > 0 ? packet->namespace : "", comma ? "," : "", identifier);
    session->connected = true;
    return websocket_send(websocket, OPCODE_TEXT, text, (size_t)length) ? CLOSE_NONE : CLOSE_INTERNAL;
}

static enum close_code answer_ack(
    struct websocket *websocket, const struct packet *packet, const struct event *event) {
    char text[NAMESPACE_LIMIT + 64];
    size_t length = 0;
    text[length++] = '4';
    text[length++] = packet->type == '5' ? '6' : '3';
    if (packet->type == '5') {
        length += (size_t)sprintf(text + length, "%u-", packet->attachments);
    }
    if (packet->namespace_length > 0) {
        memcpy(text + length, packet->namespace, packet->namespace_length);
        length += packet->namespace_length;
    }
    memcpy(text + length, packet->identifier, packet->identifier_length);
    length += packet->identifier_length;
    text[length++] = '[';

    struct buffer *out = &websocket->out;
    size_t total = length + event->arguments_length;
    if (!buffer_reserve(out, total + 10)) {
        return CLOSE_INTERNAL;
    }
    out->end += websocket_header(out->bytes + out->end, OPCODE_TEXT, total);
    memcpy(out->bytes + out->end, text, length);
    memcpy(out->bytes + out->end + length, event->arguments, event->arguments_length);
    out->end += total;
    return CLOSE_NONE;
}

static enum close_code start_flood(
    struct session *session, const struct packet *packet, const struct event *event) {
    if (session->flood_count == FLOODS_LIMIT) {
        return CLOSE_POLICY;
    }
    struct flood *flood = &session->floods[session->flood_count];
    *flood = (struct flood){
        .total = number_of(event, "\"n\"", 1000000000),
        .bytes = (size_t)number_of(event, "\"bytes\"", PAD_LIMIT),
        .namespace_length = packet->namespace_length,
    };
    if (packet->namespace_length > 0) {
        memcpy(flood->namespace, packet->namespace, packet->namespace_length);
    }
    session->flood_count += flood->total > 0 ? 1 : 0;
    return CLOSE_NONE;
}

static enum close_code take_event(
    struct session *session, struct websocket *websocket, const struct packet *packet, const uint8_t *text,
    size_t length) {
    struct event event;
    // As with Socket.IO's own server, an event ahead of CONNECT is a violation.
    if (!session->connected || !parse_event(packet, &event)) {
        return CLOSE_POLICY;
    }
    session->attachments = packet->attachments;
    // Several names, for workloads with as many events.
    bool is_echo = event.name_length >= 4 && memcmp(event.name, "echo", 4) == 0;
    session->attachments_wanted = packet->identifier_length > 0 || is_echo;
    if (is_named(&event, "flood")) {
        enum close_code code = start_flood(session, packet, &event);
        if (code != CLOSE_NONE) {
            return code;
        }
    }
    if (packet->identifier_length > 0) {
        return answer_ack(websocket, packet, &event);
    }
    if (session->attachments_wanted) {
        return websocket_send(websocket, OPCODE_TEXT, text, length) ? CLOSE_NONE : CLOSE_INTERNAL;
    }
    return CLOSE_NONE;
}

static enum close_code take_packet(
    struct session *session, struct websocket *websocket, const uint8_t *text, size_t length) {
    struct packet packet;
    if (session->attachments > 0 || !parse_packet((const char *)text + 1, length - 1, &packet)) {
        return CLOSE_POLICY;
    }
    switch (packet.type) {
    case '0':
        return answer_connect(session, websocket, &packet);
    case '2':
    case '5':
        return take_event(session, websocket, &packet, text, length);
    case '6':
        session->attachments = packet.attachments;
        session->attachments_wanted = false;
        return CLOSE_NONE;
    default:
        return CLOSE_NONE;
    }
}

static enum close_code take_attachment(
    struct session *session, struct websocket *websocket, const uint8_t *payload, size_t length) {
    if (session->attachments == 0) {
        return CLOSE_POLICY;
    }
    session->attachments -= 1;
    if (!session->attachments_wanted) {
        return CLOSE_NONE;
    }
    return websocket_send(websocket, OPCODE_BINARY, payload, length) ? CLOSE_NONE : CLOSE_INTERNAL;
}

static enum close_code session_receive(
    struct websocket *websocket, void *context, enum opcode opcode, const uint8_t *payload, size_t length) {
    struct session *session = context;
    if (opcode == OPCODE_BINARY) {
        return take_attachment(session, websocket, payload, length);
    }
    switch (length > 0 ? payload[0] : 0) {
    case '1':
        return CLOSE_NORMAL;
    case '2':
        if (!websocket_send(websocket, OPCODE_TEXT, payload, length)) {
            return CLOSE_INTERNAL;
        }
        websocket->out.bytes[websocket->out.end - length] = '3';
        return CLOSE_NONE;
    case '3':
        session->pong_received = true;
        return CLOSE_NONE;
    case '4':
        return take_packet(session, websocket, payload, length);
    case '6':
        return CLOSE_NONE;
    default:
        return CLOSE_POLICY;
    }
}

bool session_open(struct session *session, struct websocket *websocket, long interval_ms, long timeout_ms) {
    char text[192], identifier[20];
    if (!make_identifier(identifier)) {
        return false;
    }
    int length = snprintf(
        text, sizeof(text),
        "0{\"sid\":\"%.20s\",\"upgrades\":[],\"pingInterval\":%ld,\"pingTimeout\":%ld,\"maxPayload\":%d}", identifier,
        interval_ms, timeout_ms, MESSAGE_LIMIT);
    websocket->handler = session_receive;
    websocket->context = session;
    return websocket_send(websocket, OPCODE_TEXT, text, (size_t)length);
}

// MARK: Floods

bool session_can_fill(const struct session *session) {
    // A packet and its attachments must not have another packet between them.
    return session->flood_count > 0 && (session->attachments == 0 || !session->attachments_wanted);
}

/// Queues the next item in full; returns the frame's size and how far before its end the number's last digit is.
static size_t push_item(struct flood *flood, struct buffer *out, size_t *last_digit) {
    char head[NAMESPACE_LIMIT + 64], number[24];
    int digits = sprintf(number, "%llu", (unsigned long long)flood->next);
    int head_length = snprintf(
        head, sizeof(head), "42%.*s[\"item\",{\"id\":%s", (int)flood->namespace_length, flood->namespace, number);
    size_t bare = sizeof("{\"id\":,\"pad\":\"\"}") - 1 + (size_t)digits;
    size_t pad = flood->bytes > bare ? flood->bytes - bare : 0;
    size_t total = (size_t)head_length + sizeof(",\"pad\":\"\"}]") - 1 + pad;
    if (!buffer_reserve(out, total + 10)) {
        return 0;
    }
    size_t header = websocket_header(out->bytes + out->end, OPCODE_TEXT, total);
    uint8_t *place = out->bytes + out->end + header;
    place = (uint8_t *)mempcpy(place, head, (size_t)head_length);
    place = (uint8_t *)mempcpy(place, ",\"pad\":\"", 8);
    memset(place, 'x', pad);
    memcpy(place + pad, "\"}]", 3);
    out->end += header + total;
    *last_digit = total - (size_t)head_length + 1;
    flood->next += 1;
    return header + total;
}

/// Repeats the frame at the end of the buffer with the next number, as long as that has as many digits.
static bool repeat_items(struct flood *flood, struct buffer *out, size_t budget, size_t size, size_t last_digit) {
    uint64_t limit = 10;
    while (limit < flood->next) {
        limit *= 10;
    }
    for (; flood->next < flood->total && flood->next < limit && buffer_count(out) < budget; flood->next++) {
        if (!buffer_reserve(out, size)) {
            return false;
        }
        uint8_t *place = out->bytes + out->end;
        memcpy(place, place - size, size);
        uint8_t *digit = place + size - last_digit;
        while (*digit == '9') {
            *digit-- = '0';
        }
        *digit += 1;
        out->end += size;
    }
    return true;
}

bool session_fill(struct session *session, struct buffer *out, size_t budget) {
    while (session_can_fill(session) && buffer_count(out) < budget) {
        struct flood *flood = &session->floods[0];
        size_t last_digit = 0;
        size_t size = push_item(flood, out, &last_digit);
        if (size == 0 || !repeat_items(flood, out, budget, size, last_digit)) {
            return false;
        }
        if (flood->next == flood->total) {
            session->flood_count -= 1;
            memmove(flood, flood + 1, session->flood_count * sizeof(*flood));
        }
    }
    return true;
}

// The opening handshake of RFC 6455 section 4.2, with the SHA-1 and base64 that it needs.

#define _GNU_SOURCE
#include "server.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static uint32_t rotate(uint32_t value, unsigned bits) { return value << bits | value >> (32 - bits); }

static void sha1_block(uint32_t state[5], const uint8_t block[64]) {
    uint32_t words[80];
    for (unsigned index = 0; index < 16; index++) {
        words[index] = (uint32_t)big_endian(block + 4 * index, 4);
    }
    for (unsigned index = 16; index < 80; index++) {
        words[index] = rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned index = 0; index < 80; index++) {
        uint32_t mixed = index < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                         : index < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                         : index < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                      : (b ^ c ^ d) + 0xca62c1d6;
        uint32_t next = rotate(a, 5) + mixed + e + words[index];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void base64(const uint8_t *source, size_t count, char *destination, const char last_digits[2]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (size_t index = 0; index < count; index += 3) {
        size_t rest = count - index < 3 ? count - index : 3;
        uint32_t bits = (uint32_t)source[index] << 16;
        bits |= rest > 1 ? (uint32_t)source[index + 1] << 8 : 0;
        bits |= rest > 2 ? (uint32_t)source[index + 2] : 0;
        for (size_t place = 0; place < 4; place++) {
            uint32_t digit = bits >> (18 - 6 * place) & 63;
            char character = digit < 62 ? digits[digit] : last_digits[digit - 62];
            *destination++ = place <= rest ? character : '=';
        }
    }
}

/// The answer to a key is a digest of 24 + 36 bytes, so the padded input is always two blocks.
static void accept_key(const char key[24], char accepted[28]) {
    uint8_t input[128] = {0};
    memcpy(input, key, 24);
    memcpy(input + 24, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36);
    input[60] = 0x80;
    input[126] = (60 * 8) >> 8;
    input[127] = (60 * 8) & 0xff;
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    sha1_block(state, input);
    sha1_block(state, input + 64);
    uint8_t digest[20];
    for (unsigned index = 0; index < 20; index++) {
        digest[index] = (uint8_t)(state[index / 4] >> (24 - 8 * (index % 4)));
    }
    base64(digest, sizeof(digest), accepted, "+/");
}

/// The value of a header field of this name, trimmed; NULL when the line is of another one.
static const char *field_value(const char *line, size_t length, const char *name, size_t *value_length) {
    size_t name_length = strlen(name);
    if (length <= name_length || line[name_length] != ':' || strncasecmp(line, name, name_length) != 0) {
        return NULL;
    }
    const char *first = line + name_length + 1, *end = line + length;
    while (first < end && (*first == ' ' || *first == '\t')) {
        first++;
    }
    while (end > first && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    *value_length = (size_t)(end - first);
    return first;
}

/// Whether a comma-separated list has the token, in any case.
static bool has_token(const char *list, size_t length, const char *token) {
    size_t token_length = strlen(token);
    for (size_t index = 0; index + token_length <= length; index++) {
        size_t after = index + token_length;
        bool starts = index == 0 || list[index - 1] == ',' || list[index - 1] == ' ';
        bool ends = after == length || list[after] == ',' || list[after] == ' ';
        if (starts && ends && strncasecmp(list + index, token, token_length) == 0) {
            return true;
        }
    }
    return false;
}

enum upgrade_result upgrade_parse(const uint8_t *bytes, size_t count, struct upgrade *upgrade, size_t *consumed) {
    const char *line = (const char *)bytes;
    const char *stop = memmem(bytes, count, "\r\n\r\n", 4);
    if (stop == NULL || stop - line > REQUEST_LIMIT) {
        *consumed = count;
        return count > REQUEST_LIMIT ? UPGRADE_BAD : UPGRADE_MORE;
    }
    *consumed = (size_t)(stop + 4 - line);
    *upgrade = (struct upgrade){0};
    bool upgrades = false, connects = false, version = false;
    for (const char *next; line < stop + 2; line = next + 2) {
        next = memmem(line, (size_t)(stop + 2 - line), "\r\n", 2);
        size_t length = (size_t)(next - line), value_length = 0;
        const char *value;
        if (line == (const char *)bytes) {
            const char *space = length > 13 ? memchr(line + 4, ' ', length - 4) : NULL;
            if (space == NULL || memcmp(line, "GET ", 4) != 0 || next - space != 9 || memcmp(space, " HTTP/1.1", 9)) {
                return UPGRADE_BAD;
            }
            upgrade->target = line + 4;
            upgrade->target_length = (size_t)(space - upgrade->target);
        } else if ((value = field_value(line, length, "Upgrade", &value_length)) != NULL) {
            upgrades = upgrades || has_token(value, value_length, "websocket");
        } else if ((value = field_value(line, length, "Connection", &value_length)) != NULL) {
            connects = connects || has_token(value, value_length, "upgrade");
        } else if ((value = field_value(line, length, "Sec-WebSocket-Version", &value_length)) != NULL) {
            version = value_length == 2 && memcmp(value, "13", 2) == 0;
        } else if ((value = field_value(line, length, "Sec-WebSocket-Key", &value_length)) != NULL) {
            upgrade->key = value_length == 24 ? value : NULL;
        }
    }
    if (!upgrades || !connects || upgrade->key == NULL) {
        return UPGRADE_BAD;
    }
    return version ? UPGRADE_GOOD : UPGRADE_VERSION;
}

bool upgrade_accept(struct buffer *out, const struct upgrade *upgrade) {
    char accepted[28], answer[160];
    accept_key(upgrade->key, accepted);
    int length = snprintf(
        answer, sizeof(answer),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: %.28s\r\n\r\n",
        accepted);
    return buffer_append(out, answer, (size_t)length);
}

bool upgrade_refuse(struct buffer *out, const char *status, const char *body) {
    char answer[512];
    int length = snprintf(
        answer, sizeof(answer),
        "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nSec-WebSocket-Version: 13\r\n"
        "Connection: close\r\n\r\n%s",
        status, strlen(body), body);
    return buffer_append(out, answer, (size_t)length);
}

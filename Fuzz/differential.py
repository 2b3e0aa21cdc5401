"""Packets of Socket.IO, valid ones and mutations, and what python-socketio makes of each.

One line a packet: {"packet": text, "refused": why} or {"packet": text, "type": …, "namespace": …, "id": …,
"attachments": count, "data": the data as JSON text, blobs as {"__bytes__": index}}.
"""
import argparse
import json
import random
import sys

from socketio.packet import Packet

PLACEHOLDERS = '{"_placeholder":true,"num":0}', '{"_placeholder":true,"num":1}'
SEEDS = [
    "0", '0{"sid":"x"}', '0/admin,{"sid":"x","pid":"p"}', "1", "1/admin,", '2["e"]', '2["e",1,"two",{"three":[3]}]',
    '212["e",-1.5e3,true]', '2/a,12["e",null]', '2/a/b?x=1,0["e"]', '2["é😀",{"k":[]}]', "3/a,7[null]", "31[]", "31",
    '4{"message":"m","data":{}}', '4/a,"x"', "4", f'51-["e",{PLACEHOLDERS[0]}]',
    f'52-/a,3["e",{PLACEHOLDERS[0]},{{"k":{PLACEHOLDERS[1]}}}]', f"61-7[{PLACEHOLDERS[0]}]", '50-["e",1]', "60-7[1]",
    "2[1,2]", "2", '2 [ "e" , 1 ] ', r'2["\u00e9\ud83d\ude00\n\\"]', '2["__proto__",{"__proto__":1}]',
]
FRAGMENTS = [
    "connect", '"disconnect"', "_placeholder", '"num":', '{"_placeholder":true,"num":', "2147483648",
    "9007199254740993", "9223372036854775808", "18446744073709551616", "-1", "1e400", "NaN", "[[[[", '{"a":', "]", "}",
    ",", '"', "\\", "\\u", "\\ud800", "/", "/a,", "-", "10-", "0-", "45", "\x1e", "\0", "\ufeff", "٣", "²", "?x,",
    "[" * 70, "]" * 70, *PLACEHOLDERS,
]


def value(rng, depth=0):
    kind = rng.randrange(9 if depth < 4 else 6)
    if kind < 2:
        return rng.choice([0, -1, 7, 1.5, -0.001, 1e21, 2**53 + 1, 2**64])
    if kind < 4:
        return "".join(rng.choice('ab"\\/é😀\n\0\u2028') for _ in range(rng.randrange(6)))
    if kind < 6:
        return rng.choice([None, True, False])
    if kind < 8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(["a", "b", "num", "_placeholder", ""]): value(rng, depth + 1) for _ in range(rng.randrange(4))}


def valid(rng):
    kind = rng.choice([0, 1, 2, 2, 2, 3, 4])
    head = f"{kind}" + rng.choice(["", "", "/,", "/a,", "/chat/room,"])
    identifier = str(rng.choice([0, 7, 2**31, 2**53 - 1])) if kind in (2, 3) and rng.random() < 0.5 else ""
    data = {
        0: {"sid": "x"}, 1: None, 2: [rng.choice(["e", "say", "é"])] + [value(rng) for _ in range(rng.randrange(4))],
        3: [value(rng) for _ in range(rng.randrange(3))], 4: {"message": value(rng)},
    }[kind]
    text = "" if data is None else json.dumps(data, ensure_ascii=rng.random() < 0.5, separators=(",", ":"))
    return head + identifier + text


def mutated(rng):
    text = rng.choice(SEEDS) if rng.random() < 0.6 else valid(rng)
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        at = rng.randint(0, len(text))
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:at] + chr(rng.randrange(128)) + text[at + 1:]
        elif kind == 1:
            text = text[:at] + text[at + 1:]
        elif kind == 2:
            text = text[:at]
        elif kind == 3:
            text = text[:at] + text[at:] + text[at:]
        else:
            text = text[:at] + rng.choice(FRAGMENTS) + text[at:]
    return text


def verdict(text):
    packet = Packet(encoded_packet=text)
    count = packet.attachment_count
    # Blobs are marked by their index, so that they can be written as JSON again.
    for index in range(min(count, 11)):
        packet.add_attachment({"__bytes__": index})
    return {
        "type": packet.packet_type, "namespace": packet.namespace or "/", "id": None if packet.id is None else str(packet.id),
        "attachments": count, "data": json.dumps(packet.data),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    for _ in range(options.count):
        text = mutated(rng)
        try:
            answer = verdict(text)
        except Exception as error:  # Whatever it raises, its server takes the packet for malformed.
            answer = {"refused": type(error).__name__}
        sys.stdout.write(json.dumps({"packet": text, **answer}) + "\n")


main()

#!/usr/bin/env python3
"""Another client of the broker, of another make (paho): it describes, echoes, replies and asks."""

from __future__ import annotations

import argparse
import json
import signal
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import command_line


def publishing(**values: Any) -> Properties:
    properties = Properties(PacketTypes.PUBLISH)
    for name, value in values.items():
        if value is not None:
            setattr(properties, name, value)
    return properties


def described(message: paho.MQTTMessage) -> str:
    properties = message.properties
    return json.dumps({
        "topic": message.topic, "content": message.payload.decode("latin-1"), "qos": message.qos,
        "retain": message.retain, "user": dict(getattr(properties, "UserProperty", [])),
    })


def heard(client: paho.Client, _: Any, message: paho.MQTTMessage) -> None:
    properties = message.properties
    match message.topic.split("/")[1]:
        case "describe":
            client.publish("client/described", described(message), qos=1)
        case "echo":
            back = publishing(UserProperty=getattr(properties, "UserProperty", None))
            client.publish("client/echo", message.payload, qos=1, properties=back)
        case "request":
            back = publishing(CorrelationData=properties.CorrelationData)
            client.publish(properties.ResponseTopic, message.payload, qos=1, properties=back)
        case "ask":
            back = publishing(ResponseTopic="peer/answer", CorrelationData=b"\x00\xffq")
            client.publish("client/question", message.payload, qos=1, properties=back)
        case "answer":
            is_same = properties.CorrelationData == b"\x00\xffq"
            client.publish("client/answered", message.payload if is_same else b'"wrong"', qos=1)
        case "say":
            client.publish(message.topic.split("/", 2)[2], message.payload, qos=1)
        case "retain":
            client.publish("client/kept/" + message.topic.split("/")[2], message.payload, qos=1, retain=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker-port", type=int, required=True)
    arguments = command_line.parse(parser)
    client = paho.Client(
        paho.CallbackAPIVersion.VERSION2, client_id="peer", protocol=paho.MQTTv5, transport="websockets")

    def connected(client: paho.Client, *_: Any) -> None:
        client.subscribe([("peer/#", paho.SubscribeOptions(qos=1)), ("wills/#", paho.SubscribeOptions(qos=1))])

    def will(client: paho.Client, _: Any, message: paho.MQTTMessage) -> None:
        client.publish("client/will", described(message), qos=1)

    client.on_connect = connected
    client.on_message = heard
    client.message_callback_add("wills/#", will)
    client.on_subscribe = lambda *_: print(f"listening {arguments.broker_port}", flush=True)
    client.connect("127.0.0.1", arguments.broker_port)
    client.loop_start()
    signal.pause()


if __name__ == "__main__":
    main()

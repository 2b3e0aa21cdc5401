internal import Linkspan
internal import LinkspanInMemory

extension InMemoryHub {
    /// A hub that speaks the contract of `TransportFixture`, and has rooms.
    static func echo() -> InMemoryHub {
        let hub = InMemoryHub()
        hub.onConnect { peer throws(LinkspanError) in
            let auth = peer.request.credentials.auth?[0]
            if auth?["refuse"]?.bool == true {
                let details = try Payload(["code": "bad_name"])
                throw LinkspanError(.credentialsRefused, "refused as asked", details: details)
            }
            if auth?["early"]?.bool == true {
                for number in 1...3 { peer.emit("early", try Payload(number)) }
            }
            peer.on("join") { message in
                guard let room = message.payload[0]?.string else { return }
                peer.join(room)
                message.reply(.empty)
            }
            peer.on("tell") { message in
                guard let room = message.payload[0]?.string else { return }
                hub.emit("told", message.payload, to: room, except: peer)
                message.reply(.empty)
            }
            peer.onOther { Self.handle($0) }
        }
        return hub
    }

    private static func handle(_ message: HubMessage) {
        let peer = message.peer
        switch message.event {
        case "echo": peer.emit("echo", message.payload)
        case "req": message.reply(message.payload)
        case "ask": peer.ask("question", message.payload) { peer.emit("answered", $0) }
        case "binary3":
            let blobs = message.payload.attachments
            let reversed = Payload(trustedElements: message.payload.elements, attachments: blobs.reversed())
            peer.emit("binary3", reversed)
            message.reply(reversed)
        case "flood":
            let count = message.payload[0]?["n"]?.int ?? 0
            let pad = String(repeating: "x", count: message.payload[0]?["bytes"]?.int ?? 0)
            for number in 0..<count {
                let item = Array(#"{"id":\#(number),"pad":"\#(pad)"}"#.utf8)
                peer.emit("item", Payload(trustedElements: item[...]))
            }
            message.reply(Payload(trustedElements: Array("\(count)".utf8)[...]))
        case "whoami":
            let auth = peer.request.credentials.auth ?? Payload(trustedElements: Array("null".utf8)[...])
            peer.emit("whoami", auth)
            message.reply(auth)
        case "kick": peer.disconnect()
        case "kill_engine": peer.disconnect(LinkspanError(.connectionLost, "killed as asked"))
        default: ()
        }
    }
}

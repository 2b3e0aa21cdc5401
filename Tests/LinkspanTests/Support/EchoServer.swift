internal import Linkspan
internal import LinkspanTesting

extension ScriptedTransport {
    /// Makes the server speak the contract of ``TransportFixture``.
    ///
    /// It refuses clients with the auth payload `{"refuse":true}`, and greets those with `{"early":true}` with `early`
    /// 1, 2 and 3.
    func serveEcho() {
        self.onConnect { (peer: ScriptedPeer) throws(LinkspanError) in
            let auth = peer.request.credentials.auth?[0]
            if auth?["refuse"]?.bool == true { throw LinkspanError(.credentialsRefused, "refused as asked") }
            guard auth?["early"]?.bool == true else { return }
            for number in 1...3 { peer.emit("early", .json("\(number)")) }
        }
        self.onMessage { EchoServer.handle($0) }
    }
}

/// The server's part of the contract of ``TransportFixture``, over a scripted link.
enum EchoServer {
    static func handle(_ message: ScriptedMessage) {
        let peer = message.peer
        switch message.event {
        case "echo": peer.emit("echo", message.payload)
        case "req": message.reply(message.payload)
        case "ask": peer.ask("question", message.payload) { peer.emit("answered", $0) }
        case "binary3": Self.reverse(message)
        case "flood": Self.flood(message)
        case "whoami":
            let auth = peer.request.credentials.auth ?? .json("null")
            peer.emit("whoami", auth)
            message.reply(auth)
        case "kick": peer.close()
        case "kill_engine": peer.drop()
        default: ()
        }
    }

    private static func reverse(_ message: ScriptedMessage) {
        let blobs = Array(message.payload.values.compactMap(\.blob).reversed())
        guard blobs.count == 3 else { return message.reply(.json(#"{"error":"three binary arguments are due"}"#)) }
        let placeholders = blobs.indices.map { #"{"_placeholder":true,"num":\#($0)}"# }.joined(separator: ",")
        let answer = Payload(trustedElements: Array(placeholders.utf8)[...], attachments: blobs)
        message.peer.emit("binary3", answer)
        message.reply(answer)
    }

    private static func flood(_ message: ScriptedMessage) {
        let count = message.payload[0]?["n"]?.int ?? 0
        let pad = String(repeating: "x", count: message.payload[0]?["bytes"]?.int ?? 0)
        for number in 0..<count { message.peer.emit("item", .json(#"{"id":\#(number),"pad":"\#(pad)"}"#)) }
        message.reply(.json("\(count)"))
    }
}

import LinkspanKit
import LinkspanNetwork

/// A trade, as the feed writes it: `{"s":"BTC","p":64000.5}`.
struct Trade: Codable, Sendable, Hashable {
    var s: String
    var p: Double
}

/// The market feed's own messages: trades in batches, pings, and a subscription on each new link.
struct TickerProtocol: MessageProtocol {
    let name = "ticker"
    let symbols: [String]

    func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        [.text(try Payload(["subscribe": self.symbols]).elements)]
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let message = try Payload(checking: text)[0]
        if let ping = message?["ping"] {
            return DecodedEnvelope([], answers: [.text(try Payload(["pong": ping]).elements)])
        }
        let trades = message?["trades"]?.elements ?? []
        return DecodedEnvelope(
            try trades.map { trade throws(LinkspanError) in
                .event(name: "trade", payload: try Payload(trade), id: nil)
            })
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope { DecodedEnvelope([]) }

    func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        throw LinkspanError(.encodingFailed, "the feed takes no messages")
    }
}

/// A market ticker over a raw WebSocket.
struct Ticker {
    private let connection: ConnectionHandler

    init(_ url: String, symbols: [String]) throws {
        let configuration = WebSocketConfiguration { $0.protocol = TickerProtocol(symbols: symbols) }
        self.connection = try ConnectionBuilder(url).transport(.webSocket(configuration)).connect()
    }

    /// The trades from now on; of those that nobody takes in time, the oldest are left out.
    func trades() throws -> EventStream<Result<Trade, LinkspanError>> {
        try self.connection.values("trade", as: Trade.self)
    }
}

internal import Foundation
internal import LinkspanKit
internal import LinkspanNetwork
internal import Testing

@testable internal import Ports

@Suite
struct TickerTests {
    private let language = TickerProtocol(symbols: ["BTC", "ETH"])

    private func decode(_ text: String) throws -> DecodedEnvelope {
        try self.language.decode(text: Array(text.utf8)[...])
    }

    @Test
    func `each link begins with the subscription`() throws {
        let start = SessionStart(url: try ConnectionURL("ws://feed.example"))
        #expect(try self.language.begin(start) == [.text(Array(#"{"subscribe":["BTC","ETH"]}"#.utf8)[...])])
    }

    @Test
    func `a batch is an event for each trade, and a ping is answered`() throws {
        let trades = try self.decode(#"{"trades":[{"s":"BTC","p":64000.5},{"s":"ETH","p":1}]}"#).envelopes
        let values = try trades.map { envelope throws in
            guard case .event("trade", let payload, nil) = envelope else { throw CancellationError() }
            return try payload.decode(Trade.self)
        }
        #expect(values == [Trade(s: "BTC", p: 64_000.5), Trade(s: "ETH", p: 1)])
        let ping = try self.decode(#"{"ping":17}"#)
        #expect(ping.envelopes.isEmpty && ping.answers == [.text(Array(#"{"pong":17}"#.utf8)[...])])
    }
}

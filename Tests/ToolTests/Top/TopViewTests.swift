internal import Linkspan
@testable internal import LinkspanTerminal
internal import Testing

@testable internal import linkspan

extension Tool {
    @Suite
    struct TopViewTests {
        @available(macOS 15, *)
        private static func model(_ messages: [String]) throws -> TopModel {
            var model = TopModel()
            for message in messages {
                let value = try #require(try Payload(checking: Array(message.utf8)[...])[0])
                model.take(value, at: .now)
            }
            return model
        }

        private static func batch(_ connections: String, _ rest: String = "") -> String {
            #"{"now":1000,"totals":{"sent":3,"received":4,"failed":0,"memory":52428800},"connections":[\#(connections)]"#
                + rest + "}"
        }

        private static let up =
            #"{"id":1,"endpoint":"ws://a/","transport":"websocket","state":"connected","why":"It is up.","roundTrip":12.5,"#
            + #""waiting":0,"inFlight":2,"sent":3,"received":4}"#
        private static let down =
            #"{"id":2,"endpoint":"ws://b/","transport":"socketio","state":"reconnecting","why":"The reason: lost.","#
            + #""nextAttempt":4000,"waiting":5,"inFlight":0,"sent":0,"received":0}"#

        @available(macOS 15, *)
        private static func lines(_ model: TopModel, columns: Int = 120, rows: Int = 24) throws -> [String] {
            let now = try #require(model.heard)
            return TopView.rows(
                of: model, size: TerminalSize(columns: columns, rows: rows), state: "live", now: now
            ).map(\.text)
        }

        @available(macOS 15, *)
        @Test
        func `connections that are down come first, and the chosen one tells its countdown and its reason`() throws {
            var model = try Self.model([Self.batch("\(Self.up),\(Self.down)")])
            model.select(by: 1)
            let lines = try Self.lines(model)
            let places = ["ws://b/", "ws://a/"].map { endpoint in lines.firstIndex { $0.contains(endpoint) } }
            #expect(places[0] != nil)
            #expect((places[0] ?? 0) < (places[1] ?? 0))
            #expect(lines.contains { $0.contains("next attempt in 3.0 s  The reason: lost.") })
            #expect(lines.contains { $0.contains("1/2]") })
        }

        @available(macOS 15, *)
        @Test(arguments: [(1, 1), (20, 5), (80, 24), (400, 100)])
        func `a screen of any size is filled and not exceeded`(columns: Int, rows: Int) throws {
            let model = try Self.model([Self.batch("\(Self.up),\(Self.down)")])
            let lines = try Self.lines(model, columns: columns, rows: rows)
            #expect(lines.count <= rows)
            #expect(lines.allSatisfy { $0.count <= columns })
        }

        /// Numbers at and beyond the bounds of what an integer and a floating-point number can be.
        private static let extremes = [
            "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e300", "-1e300", "1e999", "5e-324",
        ]

        /// A batch in which every number but an id is this one.
        private static func batch(ofAll number: String) -> String {
            let now = Int(number) ?? 0
            let load = #""sent":\#(number),"received":\#(number)"#
            let row =
                #""endpoint":"ws://a/","transport":"websocket","state":"reconnecting","why":"","#
                + #""nextAttempt":\#(number),"roundTrip":\#(number),"waiting":\#(number),"inFlight":\#(number),\#(load)"#
            return #"{"now":\#(now),"totals":{\#(load),"failed":\#(number),"memory":\#(number)},"#
                + #""connections":[{"id":1,\#(row)},{"id":2,\#(row)}],"#
                + #""services":[{"path":"a","state":"ready","lost":\#(number)}],"#
                + #""points":[{\#(load),"roundTrip":\#(number)}]}"#
        }

        @available(macOS 15, *)
        @Test(arguments: Self.extremes, Self.extremes)
        func `numbers of any size in the feed give rows`(first: String, second: String) throws {
            var model = try Self.model([Self.batch(ofAll: first), Self.batch(ofAll: second)])
            model.select(by: 1)
            let lines = try Self.lines(model)
            #expect(lines.count == 24)
            #expect(lines.contains { $0.contains("ws://a/") })
        }

        @available(macOS 15, *)
        @Test
        func `the waiting messages of very many connections give rows`() throws {
            let rows = (1...10_000).map { #"{"id":\#($0),"state":"connected","waiting":9223372036854775807}"# }
            let model = try Self.model([Self.batch(rows.joined(separator: ","))])
            #expect(model.rows.count == 10_000)
            let lines = try Self.lines(model)
            #expect(lines.count == 24)
        }

        @available(macOS 15, *)
        @Test
        func `a point without a value is a gap in the chart`() {
            #expect(TopView.spark([1, nil, 2, 0], width: 6) == "   ▄ █▁".suffix(6))
        }

        @available(macOS 15, *)
        @Test
        func `a feed that begins again forgets what it had told`() throws {
            let model = try Self.model([
                Self.batch(Self.up), #"{"hello":{"session":"key"}}"#, Self.batch(Self.down),
            ])
            #expect(model.rows.keys.sorted() == [2])
            #expect(model.session == "key")
        }

        @available(macOS 15, *)
        @Test
        func `the rate is that between two batches`() throws {
            let later = Self.batch(Self.up.replacing(#""sent":3"#, with: #""sent":103"#))
                .replacing(#""now":1000"#, with: #""now":2000"#)
            let model = try Self.model([Self.batch(Self.up), later])
            #expect(model.rows[1]?.rate == 100)
        }

        @available(macOS 15, *)
        @Test(arguments: ["", "http://127.0.0.1/", "https://127.0.0.1:1/?token=a", "http://127.0.0.1:8099/"])
        func `what is no URL of an inspector is refused`(text: String) {
            #expect(TopPlace(text) == nil)
        }

        @available(macOS 15, *)
        @Test
        func `a feed without a batch has no model once its time is over`() async throws {
            let feed = TopFeed(try #require(TopPlace("http://127.0.0.1:8099/?token=a")))
            #expect(await feed.firstModel(within: .zero) == nil)
        }
    }
}

internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@testable import LinkspanSocketIO

@Suite("Requests of long polling")
struct PollingCarrierTests {
    @Test
    func `no two requests of any clients have one URL, whatever a cache makes of them`() throws {
        var targets: [String] = []
        for _ in 0..<2 {
            let bench = EngineBench(carriers: .polling)
            _ = try bench.open("/a")
            bench.answerPoll(with: bench.handshake)
            targets += bench.loop.streams.map(\.request.target)
        }
        #expect(targets.count == 6)
        #expect(Set(targets).count == 6)
    }

    @Test
    func `the salt of a carrier and the number of the request make its cache-buster`() throws {
        final class Nobody: EngineCarrierHandler {
            func opened() {}
            func received(_ next: () -> WebSocketMessage?) { while next() != nil {} }
            func changed() {}
            func writable() {}
            func closed(_ error: LinkspanError) {}
        }
        let loop = BenchLoop()
        let link = LinkRequest(url: try ConnectionURL("http://server/"))
        let request = CarrierRequest(link: link, configuration: .init { $0.carriers = .polling })
        let carrier = PollingCarrier(Boxed(request), loop: loop, handler: Nobody(), salt: 35)
        loop.enter { carrier.open() }
        #expect(loop.streams.first?.request.target == "/socket.io/?EIO=4&transport=polling&t=z.1")
    }
}

@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Saving data", .timeLimit(.minutes(1)))
struct DataSavingTests {
    private let scheduler = VirtualScheduler()
    private let transport: ScriptedTransport

    init() {
        self.transport = ScriptedTransport(scheduler: self.scheduler)
        self.transport.onMessage { $0.reply($0.payload) }
    }

    private func manager(_ dataSaving: DataSaving? = nil) -> ConnectionManager {
        ConnectionManager(
            options: .init {
                $0.scheduler = self.scheduler
                if let dataSaving { $0.dataSaving = dataSaving }
            })
    }

    private func connect(
        _ manager: ConnectionManager, _ url: String = "scripted://server", over transport: some Transport
    ) throws -> ConnectionHandler {
        let handler = try ConnectionBuilder(url).transport(transport).options {
            $0.probeEvent = "latency"
            $0.probeInterval = .seconds(10)
        }.connect(by: manager)
        self.scheduler.settle()
        return handler
    }

    /// Whether a send waits for a newer one.
    private func isSaving(_ handler: ConnectionHandler) throws -> Bool {
        let count = self.transport.received.count
        try handler.send("cursor", replacing: "cursor")
        self.scheduler.settle()
        defer { self.scheduler.advance(by: .seconds(1)) }
        return self.transport.received.count == count
    }

    @Test(arguments: [DataSaving.never, .constrained, .expensive, nil])
    func `the path's costs decide for connections there are and those to come, as the option says`(
        option: DataSaving?
    ) throws {
        let manager = self.manager(option)
        let first = try self.connect(manager, over: self.transport)
        var number = 0
        for (isExpensive, isConstrained) in [
            (false, false), (true, false), (false, true), (true, true), (false, false),
        ] {
            manager.pathCosts(isExpensive: isExpensive, isConstrained: isConstrained)
            self.scheduler.settle()
            number += 1
            let new = try self.connect(manager, "scripted://server\(number)", over: self.transport)
            let expected =
                switch option ?? .constrained {
                case .never: false
                case .constrained: isConstrained
                case .expensive: isExpensive || isConstrained
                }
            #expect(try self.isSaving(first) == expected)
            #expect(try self.isSaving(new) == expected)
            new.release()
        }
    }

    @Test
    func `the round trip is not measured meanwhile, and again afterwards`() throws {
        let manager = self.manager()
        let handler = try self.connect(manager, over: self.transport)
        self.scheduler.advance(by: .seconds(10))
        #expect(self.transport.received.map(\.event) == ["latency"])
        manager.pathCosts(isExpensive: false, isConstrained: true)
        self.scheduler.advance(by: .seconds(60))
        #expect(self.transport.received.count == 1)
        manager.pathCosts(isExpensive: false, isConstrained: false)
        self.scheduler.advance(by: .seconds(10))
        #expect(self.transport.received.count == 2)
        handler.release()
    }

    @Test
    func `a link that can save data is told, when it opens and when that changes`() throws {
        let (manager, recorder) = (self.manager(), EventRecorder())
        let handler = try self.connect(manager, over: TellingTransport(base: self.transport, recorder: recorder))
        #expect(recorder.notes.isEmpty)
        for isConstrained in [true, true, false, true] {
            manager.pathCosts(isExpensive: false, isConstrained: isConstrained)
            self.scheduler.settle()
        }
        #expect(recorder.notes == ["true", "false", "true"])
        self.transport.openPeers.last?.drop()
        self.scheduler.advance(by: .seconds(5))
        #expect(handler.state == .connected)
        #expect(recorder.notes == ["true", "false", "true", "true"])
    }
}

/// Scripted links that note whether they are to save data.
private struct TellingTransport: Transport {
    let base: ScriptedTransport
    let recorder: EventRecorder

    var name: String { self.base.name }
    var executor: any JobExecutor { self.base.executor }
    var schemes: Set<String> { self.base.schemes }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        TellingLink(self.base.makeLink(request, receiver: receiver), self.recorder)
    }
}

private final class TellingLink: Link {
    private let base: any Link
    private let recorder: EventRecorder

    init(_ base: any Link, _ recorder: EventRecorder) { (self.base, self.recorder) = (base, recorder) }

    func saveData(_ savesData: Bool) { self.recorder.note("\(savesData)") }
    func open() { self.base.open() }
    func send(_ message: OutboundMessage) -> SendAcceptance { self.base.send(message) }
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { self.base.reply(to: id, with: payload) }
    func close(code: UInt16?, reason: String) { self.base.close(code: code, reason: reason) }
    func abort() { self.base.abort() }
}

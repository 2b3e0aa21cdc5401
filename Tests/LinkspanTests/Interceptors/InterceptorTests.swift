@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Interceptors", .timeLimit(.minutes(1)))
struct InterceptorTests {
    private static func chain(_ members: any Interceptor...) -> @Sendable (inout ConnectionOptions) -> Void {
        { $0.interceptors = members }
    }

    @Test
    func `what leaves passes the chain forwards, and what arrives backwards`() throws {
        let harness = try Harness.connected(options: Self.chain(Stamp("a"), Stamp("b")))
        harness.transport.onMessage { $0.reply(.json("[]")) }
        let recorder = harness.recorder
        try harness.connection.on("news") { recorder.note($0.payload.text) }
        try harness.connection.send("hello", [String]())
        harness.peers.last?.emit("news", .json("[]"))
        harness.scheduler.settle()
        #expect(harness.transport.received.map(\.payload.text) == [#"[],"out a","out b""#])
        #expect(recorder.notes == [#"[],"in b","in a""#])
    }

    @Test
    func `replies pass the chain in both directions under the name of what they answer`() throws {
        let stamp = Stamp("a")
        let harness = try Harness.connected(options: Self.chain(stamp))
        harness.transport.onMessage { $0.reply(.json("1")) }
        try harness.perform(.request, "ask")
        harness.scheduler.settle()
        guard case .success(let reply)? = harness.outcome("ask") else { throw LinkspanError.lost }
        #expect(reply.text == #"1,"in a""#)

        let recorder = harness.recorder
        try harness.connection.on("question") { $0.reply(payload: .json("2")) }
        harness.peers.last?.ask("question") { recorder.note($0.text) }
        harness.scheduler.settle()
        #expect(recorder.notes == [#"2,"out a""#])
        #expect(stamp.replies == ["ask", "question"])
    }

    @Test
    func `a command that is refused when it is made counts as dropped`() throws {
        let harness = try Harness.connected(options: Self.chain(Refusal()))
        #expect(throws: LinkspanError.self) { try harness.connection.send("refused") }
        #expect(harness.connection.status.droppedMessages == 1)
    }

    @Test
    func `an interceptor changes the name of an event`() throws {
        let harness = try Harness.connected(options: Self.chain(Prefix("v2.")))
        let recorder = harness.recorder
        try harness.connection.on("news") { recorder.note($0.event) }
        try harness.connection.send("hello")
        harness.peers.last?.emit("v2.news")
        harness.scheduler.settle()
        #expect(harness.arrived == ["v2.hello"])
        #expect(recorder.notes == ["news"])
    }

    @Test
    func `a dropped command ends with the interceptor's reason, and nothing of it is sent`() throws {
        let harness = try Harness.connected(options: Self.chain(Stamp("a"), Censor("secret")))
        for kind in [Command.Kind.send, .request, .deliver(orderingKey: "k")] {
            try harness.perform(kind, "secret")
            harness.scheduler.settle()
            let error = harness.recorder.outcomes("secret").last?.failure
            #expect(error?.code == .dropped)
            #expect(error?.certainty == .notSent)
            #expect(error?.message == "'secret' was dropped by interceptor 'censor': not for others")
        }
        try harness.perform(.request, "open")
        harness.scheduler.settle()
        #expect(harness.arrived == ["open"])
        #expect(harness.isSuccess("open"))
        #expect(harness.connection.status.droppedMessages == 3)
        #expect(harness.connection.explain().contains("Interceptors dropped 3 messages."))
    }

    @Test
    func `a dropped message reaches no listener, and a dropped reply fails its request`() throws {
        let harness = try Harness.connected(options: Self.chain(Censor("secret", incoming: true)))
        let recorder = harness.recorder
        try harness.connection.onAny { recorder.note($0.event) }
        harness.peers.last?.emit("secret")
        harness.peers.last?.emit("open")
        try harness.perform(.request, "secret")
        try harness.perform(.deliver(orderingKey: "k"), "secret delivery")
        harness.scheduler.settle()
        #expect(recorder.notes == ["open"])
        #expect(harness.failure("secret")?.code == .dropped)
        #expect(harness.failure("secret")?.certainty == .unknown)
        #expect(harness.isSuccess("secret delivery"))
    }

    @Test
    func `commands that waited pass the chain when they leave, once for each attempt`() throws {
        let stamp = Stamp("a")
        let harness = try Harness(options: Self.chain(stamp)) { number in
            number == 1 ? LinkScript { $0.dropsAfterMessages = 1 } : .perfect
        }
        harness.transport.onMessage { $0.reply($0.payload) }
        try harness.perform(.deliver(orderingKey: "k"), "order")
        #expect(stamp.sent.isEmpty)
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(10))
        #expect(stamp.sent == ["order", "order"])
        #expect(harness.isSuccess("order"))
    }

    @Test
    func `accept sees a command in the call, and what it observes ends even when the command is refused`() throws {
        let measure = Measure()
        let harness = try Harness(
            options: {
                $0.interceptors = [measure, Refusal()]
                $0.buffer.commands = 1
            }, script: { _ in .perfect })
        try harness.connection.send("one")
        #expect(measure.begun == ["one"])
        #expect(throws: LinkspanError.self) { try harness.connection.send("two") }
        #expect(measure.begun == ["one", "two"])
        #expect(measure.ended == ["two bufferFull"])
        #expect(throws: LinkspanError.self) { try harness.perform(.send, "refused") }
        #expect(measure.ended == ["two bufferFull", "refused dropped"])
        #expect(harness.recorder.outcomes("refused").isEmpty, "a command that was not taken has no outcome")
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(measure.ended.last == "one ok")
    }

    @Test
    func `a batch with a refused command is refused as a whole`() throws {
        let measure = Measure()
        let harness = try Harness.connected(options: Self.chain(measure, Refusal()))
        #expect(throws: LinkspanError.self) {
            try harness.connection.batch { batch throws(LinkspanError) in
                try batch.send("one")
                try batch.send("refused")
            }
        }
        harness.scheduler.settle()
        #expect(harness.arrived.isEmpty)
        #expect(measure.ended == ["refused dropped", "one dropped"])
    }

    @Test
    func `each listener runs inside the chain, the first member outermost`() throws {
        let recorder = EventRecorder()
        let harness = try Harness.connected(options: Self.chain(Around("a", recorder), Around("b", recorder)))
        harness.peers.last?.emit("held")
        harness.scheduler.settle()
        try harness.connection.on("held") { recorder.note($0.event) }
        harness.scheduler.settle()
        #expect(recorder.notes == ["a held", "b held", "held", "b end", "a end"])
    }

    @Test
    func `what an interceptor sends leaves behind the message`() throws {
        let echo = Chatty()
        let harness = try Harness.connected(options: Self.chain(echo))
        echo.connection.withLock { $0 = harness.connection }
        try harness.connection.on("start") { _ in try? harness.connection.send("first") }
        harness.peers.last?.emit("start")
        harness.scheduler.settle()
        #expect(harness.arrived == ["first", "second"])
        echo.connection.withLock { $0 = nil }
    }

    @Test
    func `interceptors are shown, compared by instance, and fixed while the connection lives`() throws {
        let pool = PoolHarness()
        let stamp = Stamp("a")
        let first = try pool.connect("scripted://server") { $0.interceptors = [stamp] }
        _ = try pool.connect("scripted://server") { $0.interceptors = [stamp] }
        let error = #expect(throws: LinkspanError.self) {
            try pool.connect("scripted://server") { $0.interceptors = [Stamp("a")] }
        }
        #expect(error?.code == .conflictingOptions)
        #expect(error?.message.contains("interceptors") == true)
        let fixed = #expect(throws: LinkspanError.self) { try pool.manager.adjust(first, ConnectionOptions()) }
        #expect(fixed?.code == .conflictingOptions)
    }
}

@Suite("Fields of a payload")
struct PayloadFieldTests {
    @Test(arguments: [
        (#"{}"#, #"{"h":{"a":1}}"#), (#"{ }"#, #"{"h":{"a":1} }"#), (#"{"x":1},2"#, #"{"h":{"a":1},"x":1},2"#),
        (#"{"x":1,"h":[1,{"h":2}],"y":3},4"#, #"{"x":1,"h":{"a":1},"y":3},4"#), ("", #"{"h":{"a":1}}"#),
    ])
    func `a field is added or replaced, and the rest stays as it is`(before: String, after: String) throws {
        var payload = Payload.json(before)
        try payload.setField("h", to: ["a": 1])
        #expect(payload.text == after)
        #expect(payload[0]?["h"]?["a"]?.int == 1)
    }

    @Test(arguments: ["1", #""text",{}"#, "[{}]", #"{"_placeholder":true,"num":0}"#])
    func `a first argument that is no object takes no field`(text: String) {
        var payload = Payload(trustedElements: Array(text.utf8)[...], attachments: [[1]])
        let error = #expect(throws: LinkspanError.self) { try payload.setField("h", to: 1) }
        #expect(error?.code == .encodingFailed)
        #expect(payload.text == text)
    }
}

// MARK: - Interceptors of the tests

/// Appends where a message has been.
private final class Stamp: Interceptor {
    let name: String
    private let log = Lock((sent: [String](), replies: [String]()))

    init(_ name: String) { self.name = name }

    var sent: [String] { self.log.withLock { $0.sent } }
    var replies: [String] { self.log.withLock { $0.replies } }

    func send(_ message: inout InterceptedMessage) throws(LinkspanError) {
        self.append("out \(self.name)", to: &message)
        self.log.withLock { [message] in
            if message.isReply { $0.replies.append(message.event) } else { $0.sent.append(message.event) }
        }
    }

    func receive(_ message: inout InterceptedMessage) throws(LinkspanError) {
        self.append("in \(self.name)", to: &message)
        if message.isReply { self.log.withLock { [message] in $0.replies.append(message.event) } }
    }

    private func append(_ text: String, to message: inout InterceptedMessage) {
        message.payload = .json(message.payload.isEmpty ? "\"\(text)\"" : "\(message.payload.text),\"\(text)\"")
    }
}

private final class Prefix: Interceptor {
    let name = "prefix"
    private let prefix: String

    init(_ prefix: String) { self.prefix = prefix }

    func send(_ message: inout InterceptedMessage) throws(LinkspanError) { message.event = self.prefix + message.event }

    func receive(_ message: inout InterceptedMessage) throws(LinkspanError) {
        if message.event.hasPrefix(self.prefix) { message.event.removeFirst(self.prefix.count) }
    }
}

private final class Censor: Interceptor {
    let name = "censor"
    private let event: String
    private let incoming: Bool

    init(_ event: String, incoming: Bool = false) {
        self.event = event
        self.incoming = incoming
    }

    func send(_ message: inout InterceptedMessage) throws(LinkspanError) {
        if !self.incoming { try self.check(message) }
    }

    func receive(_ message: inout InterceptedMessage) throws(LinkspanError) {
        if self.incoming { try self.check(message) }
    }

    private func check(_ message: InterceptedMessage) throws(LinkspanError) {
        if message.event == self.event { throw LinkspanError(.dropped, "not for others") }
    }
}

private final class Refusal: Interceptor {
    let name = "refusal"

    func accept(_ command: inout Command) throws(LinkspanError) {
        if command.event == "refused" { throw LinkspanError(.dropped, "refused") }
    }
}

private final class Measure: Interceptor {
    let name = "measure"
    private let log = Lock((begun: [String](), ended: [String]()))

    var begun: [String] { self.log.withLock { $0.begun } }
    var ended: [String] { self.log.withLock { $0.ended } }

    func accept(_ command: inout Command) throws(LinkspanError) {
        let event = command.event
        self.log.withLock { $0.begun.append(event) }
        command = command.observed { outcome in
            let end = outcome.failure.map { $0.code.rawValue } ?? "ok"
            self.log.withLock { $0.ended.append("\(event) \(end)") }
        }
    }
}

private final class Around: Interceptor {
    let name: String
    private let recorder: EventRecorder

    init(_ name: String, _ recorder: EventRecorder) {
        self.name = name
        self.recorder = recorder
    }

    func handle(_ message: Message, by listener: () -> Void) {
        self.recorder.note("\(self.name) \(message.event)")
        listener()
        self.recorder.note("\(self.name) end")
    }
}

private final class Chatty: Interceptor {
    let name = "chatty"
    let connection = Lock<PooledConnection?>(nil)

    func send(_ message: inout InterceptedMessage) throws(LinkspanError) {
        if message.event == "first" { try self.connection.withLock { $0 }?.send("second") }
    }
}

extension Result<Payload, LinkspanError> {
    fileprivate var failure: LinkspanError? { if case .failure(let error) = self { error } else { nil } }
}

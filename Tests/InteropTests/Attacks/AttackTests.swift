internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocketProtocol
internal import Testing
internal import TestSupport

@testable internal import LinkspanWebSocket

extension Interop {
    /// Servers that mean harm: memory stays, the link ends with a reason and in time, and other connections notice
    /// nothing.
    @Suite(.overBackEnds) struct AttackTests {
        private static let environment = ProcessInfo.processInfo.environment
        /// How long each attack goes on, over as many links as the client makes meanwhile, if that is wanted.
        ///
        /// Then each is made alone, so that memory and time are told for each.
        private static let wantedDuration = Self.environment["ATTACK_SECONDS"].flatMap(Double.init)
        private static let duration = Duration.seconds(Self.wantedDuration ?? 0.5)
        /// All, or the one that `ATTACK` names.
        private static let groups = AttackGroup.all(
            eachAlone: Self.wantedDuration != nil, only: Self.environment["ATTACK"])
        /// The most by which the memory may grow.
        private static let room = (AddressSanitizer.isOn ? 512 : 32) << 20
        /// How long the answer to a neighbour may take while another connection is attacked, and the end of a link after
        /// its limit.
        ///
        /// A second, where times are measured; otherwise the machine may be busy with something else.
        private static let patience = Duration.seconds(Self.wantedDuration == nil ? 60 : 1)

        /// What is left to say of an attack that is over.
        private struct Victim: Sendable {
            let attack: Attack
            let client: Client
            /// How long after the limit the link ended; nil when it had no reason to.
            let delay: Duration?
        }

        @Test(arguments: Self.groups)
        func `an attack costs its own connection at most`(_ group: AttackGroup) async throws {
            let certificates = group.isSecure ? try await SharedServers.certificates() : nil
            let neighbours = try await SharedServers.server(.aiohttp)
            let server = PythonServer("hostile_server.py", certificates?.options("good") ?? [])
            try await server.use {
                try await Self.bear(group, server, certificates, neighbours)
            }
        }

        private static func bear(
            _ group: AttackGroup, _ server: PythonServer, _ certificates: Certificates?, _ neighbours: PythonServer
        ) async throws {
            // Whose clients come back as those of an app do.
            try await Bench.use(ConnectionManager()) { bench in
                let neighbour = try await bench.socketIO(neighbours)
                try await neighbour.connected()
                try await neighbour.settle()
                let memory = MemoryGrowth()
                let victims = try await withThrowingTaskGroup(of: Victim.self) { tasks in
                    for attack in group.attacks {
                        tasks.addTask { try await Self.victim(of: attack, bench, server, certificates) }
                    }
                    return try await tasks.reduce(into: []) { $0.append($1) }
                }
                // The clients come back, and the attacks go on.
                let slowest = try await Self.watch(neighbour)
                #expect(memory.largest <= Self.room, "the memory grew by \(memory.largest >> 10) KiB")
                #expect(slowest <= Self.patience)
                #expect(neighbour.states.entries.map(\.to) == [.connected])
                #expect(!server.hasSaid("stolen"), "the client went where it was sent, or said what it was told")
                for victim in victims {
                    if victim.attack.outcome == nil {
                        #expect(victim.client.states.entries.map(\.to) == [.connected], "\(victim.attack.name)")
                    }
                    Self.report(victim, memory: memory.largest, slowest: slowest)
                }
            }
        }

        /// Has a client attacked, and waits for the end of its first link, which has to have the right reason.
        private static func victim(
            of attack: Attack, _ bench: Bench, _ server: PythonServer, _ certificates: Certificates?
        ) async throws -> Victim {
            let client = try await Self.client(for: attack, bench, server, certificates)
            try await server.says("limit \(attack.path)")
            guard let outcome = attack.outcome else {
                try await client.connected()
                return Victim(attack: attack, client: client, delay: nil)
            }
            let limit = ContinuousClock.now
            let reason = try await client.lost()
            let delay = limit.duration(to: .now)
            #expect(reason.error?.code == outcome, "\(attack.name): \(String(describing: reason.error))")
            #expect(delay <= attack.deadline + Self.patience, "\(attack.name)")
            return Victim(attack: attack, client: client, delay: delay)
        }

        private static func client(
            for attack: Attack, _ bench: Bench, _ server: PythonServer, _ certificates: Certificates?
        ) async throws -> Client {
            let tls = certificates.map { TLSPolicy(roots: .file($0.authority)) } ?? .system
            let scheme = certificates == nil ? "http" : "https"
            // Short where the end is to be this deadline; elsewhere a slow machine must not be faster with it.
            func options(_ options: inout ConnectionOptions) {
                options.openDeadline = attack.outcome == .timedOut ? Attack.openDeadline : .seconds(300)
            }
            guard attack.wire != .webSocket else {
                let url = "\(certificates == nil ? "ws" : "wss")://127.0.0.1:\(server.port)\(attack.path)"
                let configuration = WebSocketConfiguration { $0.tls = tls }
                return try await bench.client(
                    url, WebSocketTransport(configuration, loop: bench.loop), .none, options)
            }
            let configuration = SocketIOConfiguration {
                $0.tls = tls
                $0.path = attack.path
                $0.maximumMessageBytes = attack.messageLimit
                $0.carriers = attack.wire.carriers
            }
            return try await bench.client(
                "\(scheme)://127.0.0.1:\(server.port)/?attack=\(attack.name)",
                SocketIOTransport(configuration, loop: bench.loop), .none,
                options)
        }

        /// Talks to the neighbour for as long as the attack goes on.
        ///
        /// - Returns: the longest that an answer took.
        private static func watch(_ neighbour: Client) async throws -> Duration {
            let end = ContinuousClock.now.advanced(by: Self.duration)
            var slowest = Duration.zero
            repeat {
                let start = ContinuousClock.now
                try await neighbour.settle()
                slowest = max(slowest, start.duration(to: .now))
                try await Task.sleep(for: .milliseconds(20))
            } while ContinuousClock.now < end
            return slowest
        }

        private static func report(_ victim: Victim, memory: Int, slowest: Duration) {
            let changes = victim.client.states.entries
            let end = changes.first { $0.to == .disconnected }?.reason.error?.code.rawValue ?? "none"
            func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
            print(
                "attack | \(victim.attack.name) | \(victim.attack.wire)\(victim.client.handler.status.url.isSecure ? " + TLS" : "")"
                    + " | \(end) | \(victim.delay.map { "\(milliseconds($0)) ms" } ?? "–") | +\(memory >> 10) KiB"
                    + " | \(milliseconds(slowest)) ms | \(changes.count { $0.to == .disconnected }) links")
        }
    }
}

extension Interop {
    /// Messages that come drop by drop.
    @Suite(.overBackEnds) struct DripTests {
        private final class Recorder: WebSocketChannelHandler, Sendable {
            let ends = Journal<WebSocketEnd>("the end of the channel")
            let openings = Journal<Void>("the opening of the channel")

            func opened(_ head: ResponseHead, subprotocol: String?) { self.openings.append(()) }
            func received(_ next: () -> WebSocketMessage?) { while next() != nil {} }
            func writable() {}
            func closed(_ end: WebSocketEnd) { self.ends.append(end) }
        }

        /// Opens a channel to a server that drips, whose messages have so long to make progress.
        private static func channel(
            _ bench: Bench, _ server: PythonServer, _ deadline: Duration, _ recorder: Recorder
        ) async -> Confined<WebSocketChannel> {
            let upgrade = StreamRequest(host: "127.0.0.1", port: server.port, isSecure: false)
            let loop = bench.loop
            return await loop.perform {
                let terms = WebSocketTerms(messageDeadline: deadline)
                return Confined(WebSocketChannel(upgrade, terms: terms, on: loop, handler: recorder), to: loop)
            }
        }

        @Test
        func `a message that makes no progress ends the connection, and at once for its owner`() async throws {
            let server = PythonServer("hostile_server.py", ["--attack", "dripped-message"])
            try await server.start()
            try await Bench.use { bench in
                let recorder = Recorder()
                let channel = await Self.channel(bench, server, .milliseconds(300), recorder)
                try await server.says("limit")
                guard case .closed(let event) = try await recorder.ends.first(1)[0] else {
                    Issue.record("it ended otherwise")
                    return
                }
                #expect(event.violation?.code == .messageOverdue)
                #expect(event.code == .policyViolation)
                #expect(await bench.loop.perform { channel.value.send(.text, length: 0) { _ in } } == .refused)
            }
            await server.stop()
        }

        @Test
        func `a message that makes progress may take longer than that`() async throws {
            let server = PythonServer("hostile_server.py", ["--attack", "flowing-message"])
            try await server.start()
            try await Bench.use { bench in
                let recorder = Recorder()
                let channel = await Self.channel(bench, server, .seconds(2), recorder)
                // The server says so once it has sent for three seconds.
                try await server.says("limit")
                #expect(recorder.ends.entries.isEmpty)
                await bench.loop.perform { channel.value.abort() }
                _ = try await recorder.ends.first(1)
            }
            await server.stop()
        }
    }
}

extension Interop {
    /// Attachments over raw WebSocket that are announced and do not come.
    @Suite(.overBackEnds) struct LateAttachmentTests {
        private final class Receiver: LinkReceiver {
            let events = Journal<LinkEvent>("link events")

            func receive(_ next: () -> LinkEvent?) {
                while let event = next() { self.events.append(event) }
            }
        }

        private static func open(_ bench: Bench, _ server: PythonServer, _ timeout: Duration) throws
            -> (link: Confined<WebSocketLink>, receiver: Receiver)
        {
            let receiver = Receiver()
            let made = WebSocketLink(
                request: LinkRequest(url: try ConnectionURL("ws://127.0.0.1:\(server.port)/")),
                settings: Boxed(WebSocketSettings(WebSocketConfiguration())), loop: bench.loop, receiver: receiver,
                attachmentsTimeout: timeout)
            let link = Confined(made, to: bench.loop)
            bench.loop.execute { link.value.open() }
            return (link, receiver)
        }

        private static func error(_ event: LinkEvent) -> LinkspanError? {
            if case .closed(let error) = event { error } else { nil }
        }

        @Test
        func `a missing attachment ends the link, with a reason for the server`() async throws {
            let server = PythonServer("hostile_server.py", ["--attack", "missing-attachment"])
            try await server.use {
                try await Bench.use { bench in
                    let (_, receiver) = try Self.open(bench, server, .milliseconds(200))
                    try await server.says("limit")
                    let end = try await receiver.events.first { Self.error($0) != nil }
                    #expect(Self.error(end)?.code == .protocolViolation)
                    try await server.says("closed 1008")
                }
            }
        }

        @Test
        func `each message has the time for itself`() async throws {
            let server = PythonServer("hostile_server.py", ["--attack", "late-attachments"])
            try await server.use {
                try await Bench.use { bench in
                    let (link, receiver) = try Self.open(bench, server, .seconds(2))
                    // After three seconds.
                    try await server.says("limit")
                    #expect(!receiver.events.entries.contains { Self.error($0) != nil })
                    bench.loop.execute { link.value.abort() }
                    try await receiver.events.first { Self.error($0) != nil }
                }
            }
        }
    }
}

#if canImport(Glibc)
/// Gives free memory back to the system; the C library's header is in none of Swift's modules.
@_silgen_name("malloc_trim")
private func trim(_ keep: Int) -> CInt

/// Sets an option of the allocator.
@_silgen_name("mallopt")
private func setOption(_ option: CInt, _ value: CInt) -> CInt
#endif

/// How much more memory this process has than at a moment, in bytes: looked at all the time until it is let go.
final class MemoryGrowth: Sendable {
    private let start: Int
    private let peak = Lock(0)

    /// Begins to look.
    init() {
        #if canImport(Glibc)
        // What earlier tests left free would hide what the next one takes.
        _ = trim(0)
        // The same goes for large pieces, which the allocator learns to keep: M_MMAP_THRESHOLD stops it from learning.
        _ = setOption(-3, 256 << 10)
        #endif
        self.start = Self.resident
        Thread.detachNewThread { [weak self] in
            while self?.measure() != nil { Thread.sleep(forTimeInterval: 0.005) }
        }
    }

    /// The most so far.
    var largest: Int {
        self.measure()
        return self.peak.withLock { $0 }
    }

    private func measure() {
        let growth = Self.resident - self.start
        self.peak.withLock { $0 = max($0, growth) }
    }

    /// What is resident, from the second number of `/proc/self/statm`, which counts pages; 0 where there is no such
    /// file.
    private static var resident: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
        let numbers = text.split(separator: " ")
        return numbers.count > 1 ? (Int(numbers[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
    }
}

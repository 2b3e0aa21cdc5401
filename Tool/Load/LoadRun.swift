import ArgumentParser
import Foundation
import Linkspan
import LinkspanFaults
import LinkspanRuntime
import Logging
import Synchronization

/// A load from its first client to its report.
@available(macOS 15, *)
final class LoadRun: Sendable {
    let scenario: LoadScenario
    /// The URL of each namespace, through the proxy if there is one.
    let urls: [String]
    let steps: [LoadStep]
    /// The events for which a step waits.
    let expected: Set<String>
    let rounds: Int
    let timeout: Duration
    let tally: Lock<LoadTally>
    private let target: ConnectionURL
    private let transport: any Transport
    private let headers: [Credentials.Field]
    private let auth: PayloadTemplate?
    private let users: [[String: String]]
    private let proxy: FaultProxy?
    private let manager = ConnectionManager(
        options: .init {
            // Each client stands for one of its own, and the report tells its failures.
            ($0.attempts.perSecond, $0.attempts.burst) = (100_000, 100_000)
            $0.logger.logLevel = .critical
        })
    private let origin = Int64.now
    /// The end of the steps by ``now``.
    private let deadline = Atomic(Int64.max)
    /// The cost at the start of the process, and when the steps began.
    private let idle = ProcessCost.now
    private let begun = Lock<ProcessCost?>(nil)

    /// Makes a run.
    ///
    /// - Parameters:
    ///   - scenario: the clients and their steps.
    ///   - base: a connection as each client makes it, but for credentials, namespace and proxy.
    ///   - headers: the header fields of each client.
    ///   - users: the text of the table of users.
    ///   - timeout: the time that a client has to connect.
    /// - Throws: `ValidationError` or `LinkspanError` for what cannot be run.
    init(
        _ scenario: LoadScenario, _ base: ConnectionConfiguration, headers: [Credentials.Field], users: String?,
        timeout: Duration
    ) throws {
        let table = try users.map(LoadScenario.users) ?? (columns: [], rows: [])
        let isRaw = base.url.scheme.hasPrefix("ws")
        self.steps = try scenario.steps.map { try LoadStep($0, columns: table.columns, isRaw: isRaw) }
        self.auth = try scenario.auth.map { try PayloadTemplate($0, columns: table.columns) }
        self.users = table.rows
        self.expected = Set(scenario.steps.filter { $0.action == .expect }.map(\.event))
        self.rounds = scenario.rounds ?? (scenario.duration == nil ? 1 : .max)
        let url = base.url
        self.target = url
        var place = url.authority
        if scenario.profile != nil || scenario.drop > 0 {
            guard ["http", "ws"].contains(url.scheme) else {
                throw ValidationError(
                    "a profile and --drop need http:// or ws://, because they work on a proxy without TLS, not \(url)")
            }
            var profile = scenario.profile ?? FaultProfile([.init()])
            if scenario.drop > 0 {
                for index in profile.phases.indices {
                    (profile.phases[index].drops, profile.phases[index].ending) = (scenario.drop, .reset)
                }
            }
            let proxy = try FaultProxy(to: url.host, port: url.port, profile: profile, seed: scenario.seed)
            (self.proxy, place) = (proxy, "127.0.0.1:\(proxy.port)")
        } else {
            self.proxy = nil
        }
        let query = url.query.map { "?\($0)" } ?? ""
        self.urls = (scenario.namespaces ?? [url.path]).map { "\(url.scheme)://\(place)\($0)\(query)" }
        (self.scenario, self.transport, self.headers, self.timeout) = (scenario, base.transport, headers, timeout)
        self.tally = Lock(LoadTally(clients: scenario.clients, namespaces: self.urls.count))
    }

    /// The nanoseconds since the beginning.
    var now: Int64 { .now - self.origin }

    /// Whether the time for the steps is up.
    var isOver: Bool { self.deadline.load(ordering: .relaxed) <= self.now }

    /// Waits so many nanoseconds, but not beyond the end of the run.
    func sleep(_ time: Int64) async {
        let time = min(time, self.deadline.load(ordering: .relaxed) - self.now)
        guard time > 0 else { return }
        guard time < 10_000_000 else {
            try? await Task.sleep(nanoseconds: UInt64(time))
            return
        }
        // A short wait need not be cancelled, and goes by the loop: `Task.sleep` costs more than a message.
        await withUnsafeContinuation { continuation in
            self.transport.executor.schedule(at: .now + .nanoseconds(time)) { continuation.resume() }
        }
    }

    private func end() { self.deadline.store(0, ordering: .relaxed) }

    /// Makes a connection of a client, which does not open before it is told to.
    func prepare(_ url: String, client: Int, _ user: [String: String]) throws(LinkspanError) -> ConnectionHandler {
        let stamp = MessageStamp(sender: client, number: 0, time: 0)
        let credentials = Credentials(auth: self.auth?.payload(stamp, user: user), headers: self.headers)
        return try self.manager.prepare(
            // Another account is another connection of the pool.
            ConnectionBuilder(url).transport(self.transport).credentials(.fixed(credentials, account: "\(client)"))
                .options {
                    $0.retry = self.proxy == nil ? .never : .standard
                    $0.openDeadline = self.timeout
                    $0.buffer.commands = 100_000
                }.build())
    }

    /// Connects all clients, takes the steps, and waits for messages under way.
    ///
    /// - Parameters:
    ///   - progress: gets a line about each second.
    ///   - interruption: returns when the load is to end early, with a report of what was measured until then.
    /// - Returns: the report.
    func run(
        _ progress: @escaping @Sendable (String) -> Void, until interruption: @escaping @Sendable () async -> Void
    ) async -> LoadReport? {
        let isInterrupted = Lock(false)
        async let _: Void = self.watch(progress)
        return await withTaskGroup(of: LoadReport?.self) { group in
            group.addTask {
                await self.work()
                return await self.settled(at: .now)
            }
            group.addTask {
                await interruption()
                guard !Task.isCancelled else { return nil }
                // Before the end, after which either task may report first.
                isInterrupted.withLock { $0 = true }
                self.end()
                return await self.settled(at: .now)
            }
            while let report = await group.next() {
                guard var report else { continue }
                report.isInterrupted = isInterrupted.withLock { $0 }
                group.cancelAll()
                self.end()
                // Fails what an interrupted load still waits for, which no report counts any more.
                await self.manager.shutdown(within: report.isInterrupted ? .zero : .seconds(2))
                await self.proxy?.stop()
                return report
            }
            return nil
        }
    }

    private func work() async {
        let clients = (0..<self.scenario.clients).map { number in
            LoadClient(number, user: self.users.isEmpty ? [:] : self.users[number % self.users.count], self)
        }
        let connected = await self.connect(clients)
        self.begun.withLock { $0 = .now }
        if let seconds = self.scenario.duration, !self.isOver {
            self.deadline.store(self.now + Int64(seconds * 1e9), ordering: .relaxed)
        }
        await withDiscardingTaskGroup { group in
            // On the thread of its socket, so that a message does not wake another one.
            for client in connected {
                group.addTask(executorPreference: client.executor) { await client.work() }
            }
        }
    }

    /// The report, once messages under way have come back.
    private func settled(at worked: ProcessCost) async -> LoadReport {
        await self.settle()
        return self.report(self.begun.withLock { $0 } ?? self.idle, worked)
    }

    /// Connects client after client in the time of the ramp; returns those that are.
    private func connect(_ clients: [LoadClient]) async -> [LoadClient] {
        let start = ContinuousClock.now
        return await withTaskGroup(of: LoadClient?.self) { group in
            for (index, client) in clients.enumerated() {
                let due = start + .seconds(self.scenario.ramp * Double(index) / Double(clients.count))
                if due - .now > .milliseconds(1) { try? await Task.sleep(until: due) }
                guard !Task.isCancelled, !self.isOver else { break }
                group.addTask { await client.connect() ? client : nil }
            }
            return await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
        }
    }

    /// Waits until every message that should come back has, or the time for that is up.
    private func settle() async {
        let end = ContinuousClock.now + .seconds(self.scenario.settle)
        while .now < end {
            let (due, received, underWay) = self.tally.withLock { tally in
                let (due, received) = tally.book.progress(tally.receivers)
                return (due, received, tally.underWay)
            }
            guard received < due || underWay > 0 else { return }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    private func watch(_ progress: @escaping @Sendable (String) -> Void) async {
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let now = self.now
            let tally = self.tally.withLock { tally in
                tally.endSecond(at: now)
                return (
                    tally.open, tally.sent, tally.received, tally.seconds.last?.p99 ?? 0,
                    tally.errors.values.reduce(0, +)
                )
            }
            progress(
                "\(self.bar(at: now, open: tally.0))\(now / 1_000_000_000) s  \(tally.0) of \(self.scenario.clients * self.urls.count) connected  "
                    + "sent \(tally.1)  received \(tally.2)  p99 \(LoadReport.text(tally.3)) ms  errors \(tally.4)")
        }
    }

    /// The share of the time that is over, as a bar; before the steps that of the clients that have connected.
    private func bar(at now: Int64, open: Int) -> String {
        var share = Double(open) / Double(self.scenario.clients * self.urls.count)
        if self.begun.withLock({ $0 != nil }) {
            guard let seconds = self.scenario.duration else { return "" }
            share = 1 - Double(self.deadline.load(ordering: .relaxed) - now) / 1e9 / seconds
        }
        let full = Int(min(max(share, 0), 1) * 20)
        return "[\(String(repeating: "#", count: full))\(String(repeating: "-", count: 20 - full))] "
    }

    /// Errors by what they say, which is of the server and not of the proxy in between.
    private func namingTarget(_ errors: [String: Int]) -> [String: Int] {
        guard let port = self.proxy?.port else { return errors }
        let pairs = errors.map { ($0.key.replacing("127.0.0.1:\(port)", with: self.target.authority), $0.value) }
        return Dictionary(pairs, uniquingKeysWith: +)
    }

    private func report(_ begun: ProcessCost, _ worked: ProcessCost) -> LoadReport {
        let tally = self.tally.withLock { tally in
            tally.endSecond(at: self.now)
            return tally
        }
        let times = tally.times
        let (toServer, fromServer) = tally.book.faults(tally.receivers)
        let messages = tally.sent + tally.received
        let share = (worked.processor - begun.processor) / max(0.001, (worked.time - begun.time) / .seconds(1))
        let late = tally.lateness.quantile(0.99)
        let isBottleneck = messages > 0 && (share > 0.9 || late > 20_000_000)
        return LoadReport(
            url: "\(self.target)", clients: self.scenario.clients, failedClients: tally.failedClients,
            seed: self.scenario.seed,
            seconds: (worked.time - begun.time) / .seconds(1), sent: tally.sent, received: tally.received,
            strange: tally.strange,
            times: [
                "connect": .init(tally.connect), "reconnect": .init(tally.reconnect), "request": .init(times.request),
                "delivery": .init(times.delivery), "lateness": .init(tally.lateness),
            ].filter { $0.value.count > 0 },
            toServer: toServer, fromServer: fromServer, errors: self.namingTarget(tally.errors),
            cost: .init(
                processorSeconds: worked.processor - self.idle.processor, processors: share,
                microsecondsPerMessage: messages == 0
                    ? 0 : (worked.processor - begun.processor) / Double(messages) * 1e6,
                residentMiB: Double(ProcessMemory.resident) / 1_048_576,
                kibPerClient: Double(begun.memory - self.idle.memory) / 1_024 / Double(self.scenario.clients)),
            bottleneck: isBottleneck
                ? "the client was the bottleneck: it used \(LoadReport.text(share)) processors, and messages left "
                    + "\(LoadReport.text(late.milliseconds)) ms late (p99); lower the rate, or share the clients among machines"
                : nil,
            thresholds: [], timeline: tally.seconds)
    }
}

/// The processor time and the memory that the process has used.
struct ProcessCost {
    let time = ContinuousClock.now
    let memory = ProcessMemory.resident
    /// User and system seconds.
    let processor: Double

    static var now: Self {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Self(processor: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }

    /// Has the process may open as many files as a load needs.
    ///
    /// - Throws: `ValidationError` when the system does not allow that.
    static func allow(files: Int) throws {
        var limit = rlimit()
        #if canImport(Glibc)
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let kind = RLIMIT_NOFILE
        #endif
        getrlimit(kind, &limit)
        guard limit.rlim_cur < rlim_t(files) else { return }
        let allowed = limit.rlim_max
        limit.rlim_cur = min(rlim_t(files), allowed)
        guard allowed >= rlim_t(files), setrlimit(kind, &limit) == 0 else {
            throw ValidationError(
                "this load needs \(files) open files and the system allows \(allowed): raise the limit with "
                    + "`ulimit -n \(files)` as root, or use fewer clients")
        }
    }
}

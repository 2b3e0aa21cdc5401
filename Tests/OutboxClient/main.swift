#if OUTBOX
// A client that tests kill: it hands deliveries over as fast as they are committed, and says on its standard output what
// was promised to it.
import LinkspanBrokers
import LinkspanRuntime
import LinkspanSocketIO
import LinkspanWebSocket

@_spi(OutboxSteps) import LinkspanOutbox
import Linkspan

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// The arguments: `--name value`.
func argument(_ name: String) -> String? {
    CommandLine.arguments.firstIndex(of: "--\(name)").map { CommandLine.arguments[$0 + 1] }
}

/// Says something, at once: what is in a buffer dies with the process.
func say(_ line: String) { _ = Array("\(line)\n".utf8).withUnsafeBytes { write(1, $0.baseAddress, $0.count) } }

/// Kills the process when it comes to a step for the so-manieth time.
struct Trap: Sendable {
    private let step: String
    private let left: Lock<Int>

    /// Reads `step:count`.
    init(_ text: String) {
        let parts = text.split(separator: ":")
        self.step = String(parts[0])
        self.left = Lock(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }

    func reach(_ step: String) {
        guard step == self.step else { return }
        let isDue = self.left.withLock { left in
            left -= 1
            return left == 0
        }
        guard isDue else { return }
        guard step == "checkpointing" else { return self.die() }
        // While it is under way, not before.
        Task.detached {
            usleep(UInt32.random(in: 0...3_000))
            self.die()
        }
    }

    private func die() { kill(getpid(), SIGKILL) }
}

let trap = Trap(argument("crash") ?? "never")
let run = argument("run") ?? "0"
let size = argument("size").flatMap { Int($0) } ?? 0
guard let file = argument("file"), let url = argument("url") else { exit(2) }

let outbox = Outbox(path: file) { $0.onStep = { trap.reach($0) } }
let options = ConnectionOptions {
    $0.store = outbox
    $0.deliveries.keyPlacement = .lastArgument
    $0.deliveries.repeatAfter = .seconds(2)
    $0.retry = RetryPolicy { _ in .milliseconds(20) }
}
let languages: [String: any MessageProtocol] = ["mqtt": .mqtt, "nats": .nats]
let language = languages[argument("protocol") ?? "json"] ?? .json
let transport: any Transport =
    url.hasPrefix("ws") ? WebSocketTransport(.init { $0.protocol = language }) : SocketIOTransport()
let event = argument("event") ?? "say"
let manager = ConnectionManager(options: .init { $0.attempts.spacing = .milliseconds(20) })
let handler = try ConnectionBuilder(url).transport(transport).options { $0 = options }.connect(by: manager)

// What is confirmed is offered no more.
Task {
    for try await entry in outbox.outcomes() {
        let key = entry.delivery.key
        let isDelivered = if case .success? = entry.delivery.outcome { true } else { false }
        say("offered \(key) \(isDelivered ? "delivered" : "")")
        trap.reach("offered")
        try await outbox.confirm(entry)
        say("confirmed \(key)")
    }
}

if argument("drain") != nil {
    while true {
        let figures = try await outbox.figures()
        if figures.waiting == 0, figures.outcomes == 0 { break }
        try await Task.sleep(for: .milliseconds(10))
    }
    await manager.shutdown()
    await outbox.close()
    say("drained")
    exit(0)
}

let filling = String(repeating: "x", count: size)
await withTaskGroup(of: Void.self) { group in
    for room in 0..<3 {
        group.addTask {
            // With `while true` the optimiser of Swift 6.3.1 never ends.
            for number in 1...Int.max {
                let text = "\(run)-\(room)-\(number)"
                do {
                    _ = try await handler.enqueue(event, text, filling, orderingKey: "room\(room)", key: text)
                    say("accepted \(text)")
                    trap.reach("accepted")
                } catch {
                    say("refused \(text) \(error)")
                }
            }
        }
    }
}
#endif

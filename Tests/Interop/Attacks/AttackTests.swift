internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing

extension Interop {
    /// Servers that mean harm: memory stays, the link ends with a reason and in time, and other connections notice nothing.
    @Suite struct AttackTests {
        /// How long each attack goes on, over as many links as the client makes meanwhile.
        private static let duration = Duration.seconds(
            ProcessInfo.processInfo.environment["ATTACK_SECONDS"].flatMap(Double.init) ?? 1)
        /// How much the memory may grow.
        private static let room = 32 << 20
        /// How long the answer to a neighbour may take while another connection is attacked.
        private static let neighbourPatience = Duration.seconds(1)

        @Test("an attack costs its own connection at most", arguments: Attack.all)
        func isBorne(_ attack: Attack) async throws {
            let neighbours = try await SharedServers.server(.aiohttp)
            let server = PythonServer("hostile_server.py", ["--attack", attack.name])
            try await server.start()
            try await Bench.use { bench in
                let neighbour = try await bench.socketIO(neighbours)
                try await neighbour.connected()
                try await neighbour.settle()
                let memory = MemoryGrowth()
                let victim = try await Self.victim(of: attack, bench, server)
                let delay = try await Self.end(of: victim, by: attack, server)
                // The client comes back, and the attack goes on.
                let slowest = try await Self.watch(neighbour)
                #expect(memory.largest <= Self.room, "the memory grew by \(memory.largest >> 10) KiB")
                #expect(slowest <= Self.neighbourPatience)
                #expect(neighbour.states.entries.map(\.to) == [.connected])
                #expect(!server.hasSaid("stolen"), "the client went where it was sent")
                Self.report(attack, victim, delay: delay, memory: memory.largest, slowest: slowest)
            }
            await server.stop()
        }

        private static func victim(of attack: Attack, _ bench: Bench, _ server: PythonServer) async throws -> Client {
            func options(_ options: inout ConnectionOptions) { options.openDeadline = Attack.openDeadline }
            return switch attack.wire {
            case .socketIO: try await bench.socketIO(server, options: options)
            case .webSocket: try await bench.webSocket(server, options: options)
            }
        }

        /// Waits for the end of the first link, which has to have the right reason.
        ///
        /// - Returns: how long after the limit it came.
        private static func end(of victim: Client, by attack: Attack, _ server: PythonServer) async throws -> Duration {
            try await server.says("limit")
            let limit = ContinuousClock.now
            let reason = try await victim.lost()
            let delay = limit.duration(to: .now)
            #expect(reason.error?.code == attack.outcome, "\(String(describing: reason.error))")
            #expect(delay <= attack.patience)
            return delay
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

        private static func report(
            _ attack: Attack, _ victim: Client, delay: Duration, memory: Int, slowest: Duration
        ) {
            let links = victim.states.entries.count { $0.to == .disconnected }
            func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
            print(
                "attack | \(attack.name) | \(attack.wire.rawValue) | \(victim.states.entries.first { $0.to == .disconnected }?.reason.error?.code.rawValue ?? "none")"
                    + " | \(milliseconds(delay)) ms | +\(memory >> 10) KiB | \(milliseconds(slowest)) ms | \(links) links"
            )
        }
    }
}

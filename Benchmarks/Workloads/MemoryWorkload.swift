import Linkspan
import LinkspanInMemory

/// W13: as W1, over the transport inside the process.
enum MemoryWorkload {
    static func run() async throws {
        let count = 1_000_000
        let text = String(repeating: "x", count: 64)
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("echo") { message in peer.emit("echo", message.payload) } }
        let connection = try ConnectionBuilder("memory://echo").transport(.inMemory(hub)).connect()
        defer { connection.release() }
        let window = Window { try? connection.send("echo", text) }
        try connection.on("echo") { message in
            precondition(message.payload[0]?.string?.utf8.count == 64, "the echo is not what was sent")
            window.cameBack()
        }
        await window.run(count / 20, width: 64)
        let measurement = Measurement(server: nil)
        await window.run(count, width: 64)
        measurement.report("W13", messages: count)
    }
}

import Foundation
import Linkspan
import LinkspanSocketIO

/// W6: from the call to connected, the first in the process and later ones; W10: from the kill of the server, which is
/// started again at once, to connected.
enum ConnectWorkload {
    static func runConnect(server: EchoServer) async throws {
        var times: [Duration] = []
        var measurement: Measurement?
        for number in 0..<201 {
            let start = ContinuousClock.now
            let connection = try ConnectionBuilder("http://127.0.0.1:\(server.port)/?n=\(number)")
                .transport(Network.socketIO).connect()
            for await change in connection.stateChanges where change.to == .connected { break }
            let time = start.duration(to: .now)
            connection.release()
            if number == 0 {
                print(String(format: "W6 cold     %.2f ms", time / .milliseconds(1)))
                measurement = Measurement(server: server)
            } else {
                times.append(time)
            }
        }
        measurement?.report("W6 warm", messages: times.count, latencies: times)
    }

    static func runRestart(path: String) async throws {
        var times: [Duration] = []
        for _ in 0..<5 {
            let server = try EchoServer(path: path)
            let connection = try ConnectionBuilder("http://127.0.0.1:\(server.port)").transport(Network.socketIO)
                .connect()
            var changes = connection.stateChanges.makeAsyncIterator()
            while let change = await changes.next(), change.to != .connected {}
            let (port, start) = (server.port, ContinuousClock.now)
            server.stop()
            let next = try EchoServer(path: path, port: port)
            while let change = await changes.next(), change.to != .connected {}
            times.append(start.duration(to: .now))
            connection.release()
            next.stop()
        }
        let sorted = times.sorted()
        print(
            String(
                format: "W10         median %.2f s, longest %.2f s of %d restarts",
                sorted[sorted.count / 2] / .seconds(1),
                (sorted.last ?? .zero) / .seconds(1), sorted.count))
    }
}

import Linkspan
import LinkspanSocketIO

/// W2 loop: requests over Socket.IO, each awaited in a task on the executor of the connection.
enum LoopRequestWorkload {
    static func run(port: Int, server: EchoServer) async throws {
        let connection = try ConnectionBuilder("http://127.0.0.1:\(port)").transport(Network.socketIO).connect()
        defer { connection.release() }
        for (count, isMeasured) in [(RequestWorkload.count / 20, false), (RequestWorkload.count, true)] {
            let measurement = Measurement(server: server)
            let latencies = try await Task(executorPreference: connection.executor) {
                try await RequestWorkload.roundTrips(connection, count)
            }.value
            if isMeasured { measurement.report("W2 loop", messages: count, latencies: latencies) }
        }
    }
}

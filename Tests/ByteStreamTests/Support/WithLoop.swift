import TestedBackEnds
import LinkspanNetwork
import LinkspanRuntime
import Testing

/// Runs `body` with a loop that is shut down afterwards, whatever happens.
func withLoop<Result>(
    listens: Bool = false, _ body: (any NetworkLoop) async throws -> Result
) async throws -> Result {
    try await withLoop(makeLoop(name: "test-loop", listens: listens), body)
}

func withLoop<Result>(_ loop: any NetworkLoop, _ body: (any NetworkLoop) async throws -> Result) async throws -> Result
{
    let result: Result
    do {
        result = try await body(loop)
    } catch {
        try await blocking { loop.shutdown() }
        throw error
    }
    try await blocking { loop.shutdown() }
    return result
}

/// Runs `body` with a server that is stopped afterwards.
func withServer<Result>(
    _ serve: @escaping @Sendable (Peer) -> Void, _ body: (LoopbackServer) async throws -> Result
) async throws -> Result {
    let server = try LoopbackServer(serve)
    defer { server.stop() }
    return try await body(server)
}

/// Makes attempts, each with twice the time of the one before, until one is in `stage` at its deadline: on a busy machine
/// an attempt may not come as far in a short time.
func expectTimeout(
    in stage: OpeningStage?, of attempt: (_ deadline: Duration) async throws -> ByteStreamError
) async throws {
    var deadline = Duration.milliseconds(300)
    var error = try await attempt(deadline)
    while error.code == .timedOut, error.stage != stage, deadline < .seconds(5) {
        deadline *= 2
        error = try await attempt(deadline)
    }
    #expect(error.code == .timedOut, "\(error)")
    #expect(error.stage == stage, "\(error)")
}

extension LoopbackServer {
    /// A plain request to this server.
    func request(_ target: String = "/", for purpose: StreamRequest.Purpose = .upgrade) -> StreamRequest {
        var request = StreamRequest(host: "127.0.0.1", port: self.port, isSecure: false, target: target)
        request.purpose = purpose
        return request
    }
}

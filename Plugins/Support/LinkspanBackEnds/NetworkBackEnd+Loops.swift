#if LWS
internal import LinkspanLWS
#endif
#if NIO
internal import LinkspanNIO
#endif
package import LinkspanNetwork
internal import LinkspanRuntime

// The back ends, named here and nowhere else.

extension NetworkBackEnd {
    /// The loop that the process shares.
    package var sharedLoop: any NetworkLoop {
        switch self {
        #if LWS
        case .libwebsockets: EventLoop.shared
        #endif
        #if NIO
        case .nio: NIOLoop.shared
        #endif
        default: AbsentLoop(self)
        }
    }

    /// Starts a loop.
    ///
    /// - Parameters:
    ///   - name: its thread's name.
    ///   - idleLimit: how long it may be of no use before its thread ends until it is needed again; nil for ever.
    ///   - resolver: the look-up of names.
    ///   - listens: whether it is to accept streams, too.
    /// - Returns: the loop.
    package func makeLoop(
        name: String, idleLimit: Duration? = nil, resolver: Resolver = .system, listens: Bool = false
    ) -> any NetworkLoop {
        switch self {
        #if LWS
        case .libwebsockets: EventLoop(name: name, resolver: resolver, idleLimit: idleLimit)
        #endif
        #if NIO
        case .nio:
            NIOLoop(name: name, resolver: resolver, idleLimit: idleLimit, kind: listens ? .ownThread : nil)
        #endif
        default: AbsentLoop(self)
        }
    }
}

/// Stands for a back end that is not built in: it runs jobs and timers, and every connection ends with the reason.
private final class AbsentLoop: NetworkLoop {
    private let backEnd: NetworkBackEnd
    private let jobs = SystemScheduler.makeExecutor(label: "linkspan-absent")

    init(_ backEnd: NetworkBackEnd) { self.backEnd = backEnd }

    private var error: ByteStreamError { ByteStreamError(.unavailable, self.backEnd.absence ?? "there is no back end") }

    var isCurrent: Bool { self.jobs.isCurrent }

    func execute(_ job: @escaping @Sendable () -> Void) { self.jobs.execute(job) }

    func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream {
        let error = self.error
        self.executeLocally { handler.closed(error) }
        return EndedStream()
    }

    func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener { throw self.error }

    func shutdown() {}
}

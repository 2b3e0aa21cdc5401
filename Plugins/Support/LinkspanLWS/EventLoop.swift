#if LWS
internal import CLibwebsockets
package import LinkspanNetwork
internal import LinkspanRuntime

/// One thread that runs a libwebsockets context, its streams and its jobs.
///
/// libwebsockets allows one call from other threads only, a wake-up. So everything else is a job that the loop's thread
/// runs, and what has to do with its streams lives there. The loop lives until ``shutdown()``, and so does its thread,
/// unless the loop was made with a limit to its idleness.
package final class EventLoop: NetworkLoop, ThreadedLoop {
    /// The loop that streams share unless they are given another.
    ///
    /// Its thread starts when the loop is first used, and ends when it has not been used for 10 seconds; the next use
    /// starts it again.
    package static let shared = EventLoop(name: "linkspan", idleLimit: .seconds(10))

    package let thread: LoopThread
    let resolver: Resolver
    /// The loop's own state, nil while there is no thread.
    let core: Confined<LoopCore?>

    /// Starts a loop whose thread has the given name.
    ///
    /// - Parameters:
    ///   - name: the name, for debuggers.
    ///   - resolver: the look-up of names.
    ///   - idleLimit: how long the loop may have no stream, no job and no timer before its thread ends until it is needed
    ///     again. Nil, the default, for a thread that is there from now until ``shutdown()``.
    package init(name: String, resolver: Resolver = .system, idleLimit: Duration? = nil) {
        self.thread = LoopThread(name: name, idleLimit: idleLimit)
        self.resolver = resolver
        self.core = Confined(nil, to: self.thread.identity)
        self.begin()
    }

    /// The configurations for TLS that are kept; on the loop.
    package var hostCount: Int { self.core.value?.library.hostCount ?? 0 }

    /// The connections that libwebsockets has to itself; on the loop.
    package var openerCount: Int { self.core.value?.library.openerCount ?? 0 }

    /// The descriptors that have been looked at; on the loop.
    package var lookCount: Int { self.core.value?.poller.lookCount ?? 0 }

    /// Begins to send a request; its stream is open once the answer allows it.
    package func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream {
        guard let core = self.core.value, !core.members.isStopping else { return self.endedStream(handler) }
        return LoopStream.connect(request, handler: handler, over: kept, among: core.members) {
            () throws(ByteStreamError) in
            let dialer = try Dialer(request, library: core.library)
            return { Connection($0, by: dialer, library: core.library, poller: core.poller) }
        }
    }

    /// Begins to listen, until the listener is closed or the loop ends.
    package func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        guard let core = self.core.value, !core.members.isStopping else { throw self.reason }
        return try ListeningSocket.open(request, members: core.members, poller: core.poller) { descriptor in
            let stream = LoopStream(acceptedFrom: Self.peerAddress(of: descriptor), among: core.members)
            guard let handler = accept(stream), stream.isOpen else { return clws_discard(descriptor) }
            let connection = Connection(
                accepted: descriptor, for: stream, library: core.library, poller: core.poller)
            stream.serve(connection, handler: handler)
        }
    }

    private static func peerAddress(of descriptor: CInt) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CLWS_ADDRESS_SIZE)) { buffer in
            guard let start = buffer.baseAddress, clws_peer_address(descriptor, start) else { return nil }
            return String(cString: start)
        }
    }

    package func serve() -> Bool {
        guard let core = LoopCore(loop: self, resolver: self.resolver) else { return false }
        self.core.value = core
        self.setWake(core.poller.wake)
        core.run(self.thread.mailbox)
        self.setWake(nil)
        core.stop()
        self.core.value = nil
        return true
    }
}
#endif

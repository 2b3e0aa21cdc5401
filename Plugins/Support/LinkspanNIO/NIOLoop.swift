#if NIO
private import CLinkspanRuntime
internal import Dispatch
package import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore
internal import NIOPosix

/// An event loop of SwiftNIO, with its streams and its jobs.
///
/// On Apple platforms it is a queue over Network.framework, by NIOTransportServices; elsewhere it is a thread
/// that has the system's sockets, by NIOPosix. TLS is the same on both.
///
/// The loop lives until ``shutdown()``, and so does its thread, unless the loop was made with a limit to its idleness.
/// Network.framework's queue takes threads of the system only while there is something to do.
/// Jobs and timers are the loop's own: SwiftNIO drops jobs after its end, and cancels a timer by a linear search.
package final class NIOLoop: NetworkLoop, ThreadedLoop {
    /// The loop that streams share unless they are given another.
    ///
    /// Its thread starts when the loop is first used, and ends when it has not been used for 10 seconds; the next use
    /// starts it again.
    package static let shared = NIOLoop(name: "linkspan-nio", idleLimit: .seconds(10))

    package let thread: LoopThread
    /// The event loops of SwiftNIO that this one runs on.
    let kind: EventLoopKind
    /// The look-up of names; nil where Network.framework does it.
    let resolver: LinkspanNetwork.Resolver?
    /// The loop's own state, nil while there is no thread.
    let core: Confined<NIOLoopCore?>

    /// Starts a loop.
    ///
    /// - Parameters:
    ///   - name: the name of its thread, for debuggers.
    ///   - resolver: the look-up of names.
    ///   - idleLimit: how long the loop may have no stream, no job and no timer before its thread ends until it is needed
    ///     again. Nil, the default, for a thread that is there from now until ``shutdown()``.
    ///   - kind: the event loops of SwiftNIO. ``EventLoopKind/ownThread`` is needed to listen on Apple platforms, too: a
    ///     loop over Network.framework only connects.
    package init(
        name: String, resolver: LinkspanNetwork.Resolver = .system, idleLimit: Duration? = nil,
        kind: EventLoopKind? = nil
    ) {
        self.thread = LoopThread(name: name, idleLimit: idleLimit)
        let kind = kind ?? .standard
        self.kind = kind
        self.resolver = !kind.usesSockets && resolver === LinkspanNetwork.Resolver.system ? nil : resolver
        self.core = Confined(nil, to: self.thread.identity)
        self.begin()
    }

    /// The configurations for TLS that are kept; on the loop.
    package var contextCount: Int { self.core.value?.contextCount ?? 0 }

    /// Begins to send a request; its stream is open once the answer allows it.
    package func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream {
        guard let core = self.core.value, !core.members.isStopping else { return self.endedStream(handler) }
        return LoopStream.connect(request, handler: handler, over: kept, among: core.members) {
            () throws(ByteStreamError) in
            let dialer = try Dialer(request, on: core)
            return { Connection($0, by: dialer, core: core) }
        }
    }

    /// Begins to listen, until the listener is closed or the loop ends.
    package func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        guard let core = self.core.value, !core.members.isStopping else { throw self.reason }
        return try ListeningChannel.open(request, on: core) { channel in
            let stream = LoopStream(acceptedFrom: channel.remoteAddress?.ipAddress, among: core.members)
            guard let handler = accept(stream), stream.isOpen else { return false }
            Connection.serve(channel, for: stream, handler: handler, on: core)
            return true
        }
    }

    /// Runs `body` in the loop's name, within a turn of SwiftNIO's.
    private func asCurrent<Result>(_ body: () -> Result) -> Result { self.thread.identity.asCurrent(body) }

    // MARK: The library

    package func launch() -> Bool {
        guard let group = self.kind.makeGroup() else { return self.launchThread() }
        let library = Library(group.next()) {
            // Not the system's own queue, whose threads may all wait for this.
            group.shutdownGracefully(queue: DispatchQueue(label: "linkspan-nio-end")) { _ in
                self.asCurrent { self.core.value = nil }
                self.libraryEnded()
            }
        }
        library.eventLoop.execute { self.asCurrent { self.begin(library) } }
        return true
    }

    package func serve() -> Bool {
        guard SpareDescriptors.areEnough else { return false }
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { eventLoop in
            self.begin(Library(eventLoop) { eventLoop.shutdownGracefully(queue: .global()) { _ in } })
        }
        self.core.value = nil
        return true
    }

    private func begin(_ library: Library) {
        let members = LoopMembers(loop: self, resolver: self.resolver)
        let core = NIOLoopCore(members, kind: self.kind, eventLoop: library.eventLoop)
        self.core.value = core
        self.setWake { library.eventLoop.execute { self.asCurrent { self.core.value?.enter() } } }
        core.enter()
    }
}

/// SwiftNIO's loop, which ends when neither our loop nor a thread that wakes it needs it: after its end it takes nothing.
private final class Library: Sendable {
    let eventLoop: any NIOCore.EventLoop
    private let end: @Sendable () -> Void

    init(_ eventLoop: any NIOCore.EventLoop, end: @escaping @Sendable () -> Void) {
        self.eventLoop = eventLoop
        self.end = end
    }

    deinit { self.end() }
}

/// The descriptors that the process may still open.
enum SpareDescriptors {
    /// As many as one loop of SwiftNIO opens: epoll or kqueue, an event and a timer, and one more.
    private static let needed = 4

    /// Whether a loop of SwiftNIO can start; SwiftNIO ends the process when it cannot.
    static var areEnough: Bool {
        let opened = (0..<self.needed).map { _ in clinkspan_open("/dev/null") }
        for descriptor in opened where descriptor >= 0 { close(descriptor) }
        return opened.allSatisfy { $0 >= 0 }
    }
}
#endif

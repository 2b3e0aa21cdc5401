import Dispatch
import Foundation
import Linkspan
import LinkspanNetwork
import LinkspanRuntime

/// A third back end, as an exercise in the seam, over pairs of sockets.
///
/// Threads block in the reads and writes of each stream. It dials its own listener alone, and speaks no HTTP.
final class SocketPairLoop: NetworkLoop {
    fileprivate struct State {
        var accept: ((any ByteStream) -> (any ByteStreamHandler)?)?
        var streams: [ObjectIdentifier: SocketPairStream] = [:]
        var hasEnded = false
    }

    private let jobs = SystemScheduler.makeExecutor(label: "socket-pairs")
    fileprivate let state: Confined<State>

    init() { self.state = Confined(State(), to: self.jobs) }

    var isCurrent: Bool { self.jobs.isCurrent }

    func execute(_ job: @escaping @Sendable () -> Void) { self.jobs.execute(job) }

    func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream {
        var ends: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Socket.stream, 0, &ends)
        let (near, far) = (SocketPairStream(ends[0], self, request), SocketPairStream(ends[1], self, request))
        near.join(handler)
        if let accepted = self.state.value.hasEnded ? nil : self.state.value.accept?(far) {
            far.join(accepted)
            far.start()
            self.executeLocally { near.open() }
        } else {
            near.end(self.state.value.hasEnded ? .loopStopped : .unreachable)
        }
        return near
    }

    func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        guard !self.state.value.hasEnded else { throw ByteStreamError(.loopStopped, "the loop has ended") }
        guard self.state.value.accept == nil else { throw ByteStreamError(.unlistenable, "the loop listens already") }
        self.state.value.accept = accept
        return SocketPairListener(self)
    }

    func shutdown() {
        self.execute {
            self.state.value.hasEnded = true
            for stream in Array(self.state.value.streams.values) { stream.end(.loopStopped) }
        }
    }
}

private final class SocketPairListener: ByteListener {
    let port = 1
    private let loop: SocketPairLoop

    init(_ loop: SocketPairLoop) { self.loop = loop }

    func close(_ onClosed: @escaping () -> Void) {
        self.loop.state.value.accept = nil
        self.loop.executeLocally(onClosed)
    }
}

private final class SocketPairStream: ByteStream {
    private var handler: (any ByteStreamHandler)?
    private let loop: SocketPairLoop
    private let peer: Peer
    private let lowWaterMark: Int
    private let highWaterMark: Int
    private var waiting: [UInt8] = []
    /// How many bytes a thread is sending.
    private var leaving = 0
    /// What the reading thread has handed over, and waits for; empty for the end.
    private var unread: [UInt8]?
    private let isTaken = DispatchSemaphore(value: 0)
    private var dropRoom: Int?
    private var (isAbove, isOpen, isPaused, isFinished, hasSaidAll) = (false, false, false, false, false)

    init(_ descriptor: Int32, _ loop: SocketPairLoop, _ request: StreamRequest) {
        self.peer = Peer(descriptor: descriptor)
        self.loop = loop
        self.lowWaterMark = request.lowWaterMark
        self.highWaterMark = request.highWaterMark
    }

    deinit { close(self.peer.descriptor) }

    func join(_ handler: any ByteStreamHandler) {
        self.handler = handler
        self.loop.state.value.streams[ObjectIdentifier(self)] = self
    }

    func open() {
        guard self.handler != nil else { return }
        self.start()
        self.handler?.opened(ResponseHead(status: 101))
    }

    func start() {
        self.isOpen = true
        let (loop, this, peer, isTaken) = (self.loop, Confined(self, to: self.loop), self.peer, self.isTaken)
        _ = SystemThread.start(name: "socket-pair") {
            var bytes: [UInt8]
            repeat {
                bytes = peer.read()
                loop.execute { [bytes] in
                    this.value.unread = bytes
                    this.value.take()
                }
                isTaken.wait()
            } while !bytes.isEmpty
        }
        self.send()
    }

    /// Takes what the reading thread waits for, unless that is to wait longer.
    private func take() {
        guard let bytes = self.unread, self.handler == nil || !self.isPaused else { return }
        self.unread = nil
        self.isTaken.signal()
        guard !bytes.isEmpty else { return self.end(self.hasSaidAll ? .closedByUs : .closedByPeer) }
        guard let room = self.dropRoom else { return self.handler?.received(bytes) ?? () }
        self.dropRoom = room - bytes.count
        if bytes.count > room { self.end(.closedByUs) }
    }

    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard self.handler != nil, !self.isFinished else { return .refused }
        fill(&self.waiting)
        if self.pendingBytes > self.lowWaterMark { self.isAbove = true }
        self.loop.executeLocally { self.send() }
        return self.pendingBytes > self.highWaterMark ? .acceptedAndFull : .accepted
    }

    var pendingBytes: Int { self.waiting.count + self.leaving }

    private func send() {
        guard self.isOpen, self.handler != nil, self.leaving == 0 else { return }
        guard !self.waiting.isEmpty else {
            guard self.isFinished, !self.hasSaidAll else { return }
            self.hasSaidAll = true
            return shutdownWriting(self.peer)
        }
        let bytes = self.waiting
        (self.waiting, self.leaving) = ([], bytes.count)
        let (loop, this, peer) = (self.loop, Confined(self, to: self.loop), self.peer)
        _ = SystemThread.start(name: "socket-pair") {
            peer.write(bytes)
            loop.execute { this.value.sent() }
        }
    }

    private func sent() {
        self.leaving = 0
        if self.isAbove, self.pendingBytes <= self.lowWaterMark {
            self.isAbove = false
            self.handler?.writable()
        }
        self.send()
    }

    func finish(readingAtMost limit: Int) {
        guard self.isOpen else { return self.end(.closedByUs) }
        guard self.handler != nil, !self.isFinished else { return }
        (self.isFinished, self.dropRoom) = (true, limit)
        self.setReadingPaused(false)
        self.loop.executeLocally { self.send() }
        self.loop.scheduleLocally(after: .seconds(5)) { self.end(self.hasSaidAll ? .closedByUs : .timedOut) }
    }

    func abort() { self.end(.closedByUs) }

    func setReadingPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        if !isPaused { self.loop.executeLocally { self.take() } }
    }

    /// Ends the stream, in a job of its own for the handler, and wakes the threads, which hold it and so the socket.
    func end(_ code: ByteStreamError.Code) {
        guard let handler = self.handler.take() else { return }
        self.waiting = []
        shutdown(self.peer.descriptor, Int32(SHUT_RDWR))
        self.take()
        self.loop.state.value.streams[ObjectIdentifier(self)] = nil
        self.loop.executeLocally { handler.closed(ByteStreamError(code, "the stream has ended")) }
    }
}

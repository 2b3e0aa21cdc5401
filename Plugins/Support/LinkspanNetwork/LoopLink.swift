internal import Dispatch
public import Linkspan
internal import LinkspanRuntime

/// A link whose methods are called on its loop, and which calls its receiver there, never from inside one of them.
public protocol ConfinedLink: AnyObject {
    /// See ``Link/open()``.
    func open()
    /// See ``Link/send(_:)``.
    func send(_ message: OutboundMessage) -> SendAcceptance
    /// See ``Link/reply(to:with:)``.
    func reply(to id: UInt64, with payload: Payload)
    /// See ``Link/close()``.
    func close()
    /// See ``Link/abort()``.
    func abort()
    /// See ``Link/pauseReading()``.
    func pauseReading()
    /// See ``Link/resumeReading()``.
    func resumeReading()
    /// See ``Link/resumption``.
    var resumption: Resumption? { get }
}

/// Brings the calls of a link to the loop on which the link lives, as long as the core calls links from any thread.
public final class LoopLink: Link {
    private let loop: any NetworkLoop
    private let link: Confined<any ConfinedLink>

    /// Makes the bridge to a link that lives on `loop`.
    public init(_ link: any ConfinedLink, on loop: any NetworkLoop) {
        self.loop = loop
        self.link = Confined(link, to: loop)
    }

    /// See ``Link/open()``.
    public func open() { self.perform { $0.open() } }

    /// See ``Link/send(_:)``; waits for the loop, because the answer cannot.
    public func send(_ message: OutboundMessage) -> SendAcceptance { self.ask { $0.send(message) } }

    /// See ``Link/reply(to:with:)``.
    public func reply(to id: UInt64, with payload: Payload) { self.perform { $0.reply(to: id, with: payload) } }

    /// See ``Link/close()``.
    public func close() { self.perform { $0.close() } }

    /// See ``Link/abort()``.
    public func abort() { self.perform { $0.abort() } }

    /// See ``Link/pauseReading()``.
    public func pauseReading() { self.perform { $0.pauseReading() } }

    /// See ``Link/resumeReading()``.
    public func resumeReading() { self.perform { $0.resumeReading() } }

    /// See ``Link/resumption``; waits for the loop.
    public var resumption: Resumption? { self.ask { $0.resumption } }

    private func perform(_ call: @escaping @Sendable (any ConfinedLink) -> Void) {
        guard !self.loop.isCurrent else { return call(self.link.value) }
        let link = self.link
        self.loop.execute { call(link.value) }
    }

    private func ask<Answer: Sendable>(_ question: @escaping @Sendable (any ConfinedLink) -> Answer) -> Answer {
        guard !self.loop.isCurrent else { return question(self.link.value) }
        let link = self.link
        let isAnswered = DispatchSemaphore(value: 0)
        let answer = Lock<Answer?>(nil)
        self.loop.execute {
            let given = question(link.value)
            answer.withLock { $0 = given }
            isAnswered.signal()
        }
        while true {
            isAnswered.wait()
            if let answer = answer.withLock({ $0 }) { return answer }
        }
    }
}

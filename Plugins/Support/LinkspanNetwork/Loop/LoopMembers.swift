package import LinkspanRuntime

/// A stream or a listener of a loop.
package protocol LoopMember: AnyObject {
    /// Sends what was written in this turn.
    func flush()

    /// Ends it because the loop ends.
    func abort(_ error: ByteStreamError)
}

/// The streams and listeners of a running loop, and the steps of its turns that do not depend on the back end.
package final class LoopMembers {
    /// The most flushes in a row; each may let handlers write more, and others have their turn in between.
    private static let flushPasses = 4

    package let loop: any ThreadedLoop
    /// The look-up of names; nil where the back end does it.
    package let resolver: Resolver?
    /// Whether the loop is shutting down; no new connection is opened then.
    package private(set) var isStopping = false
    // Looked at in each turn, as are those below: nothing is called while they change.
    @exclusivity(unchecked) private var members: [ObjectIdentifier: any LoopMember] = [:]
    @exclusivity(unchecked) private var work = LoopMailbox.Work()
    /// The streams that have written in this turn.
    @exclusivity(unchecked) private var unflushed: [any LoopMember] = []
    /// Those that are being flushed; empty but for its memory at other times.
    @exclusivity(unchecked) private var flushing: [any LoopMember] = []

    package init(loop: any ThreadedLoop, resolver: Resolver?) {
        self.loop = loop
        self.resolver = resolver
    }

    package func add(_ member: any LoopMember) { self.members[ObjectIdentifier(member)] = member }

    package func remove(_ member: any LoopMember) { self.members.removeValue(forKey: ObjectIdentifier(member)) }

    // MARK: Turns

    /// Takes what is to be done in this turn out of the mailbox.
    package func take(from mailbox: borrowing Lock<LoopMailbox>) -> LoopMailbox.OnTake {
        mailbox.withLock { $0.take(into: &self.work, isUsed: !self.members.isEmpty) }
    }

    /// Runs the jobs and timers that were taken.
    ///
    /// - Returns: whether there were timers.
    package func performWork(_ mailbox: borrowing Lock<LoopMailbox>) -> Bool {
        for job in self.work.jobs { job() }
        let timers = self.work.timers
        // Taken one by one, because each may cancel the next; no more than there were, because each may add another.
        if let (now, count) = timers {
            for _ in 0..<count {
                guard let job = mailbox.withLock({ $0.takeTimer(now) }) else { break }
                job()
            }
        }
        self.work.removeAll()
        return timers != nil
    }

    /// Whether something that was written is not sent yet, because handlers went on writing.
    package var isFlushDue: Bool { !self.unflushed.isEmpty }

    package func flushLater(_ member: any LoopMember) { self.unflushed.append(member) }

    /// Sends what the streams have written since the last time.
    package func flush() {
        var passes = 0
        while !self.unflushed.isEmpty, passes < Self.flushPasses {
            swap(&self.unflushed, &self.flushing)
            for member in self.flushing { member.flush() }
            self.flushing.removeAll(keepingCapacity: true)
            passes += 1
        }
    }

    /// Ends every stream and listener.
    package func stop() {
        self.isStopping = true
        let error = ByteStreamError(.loopStopped, "the loop has been shut down")
        for member in Array(self.members.values) { member.abort(error) }
        self.unflushed = []
    }
}

#if LWS
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The state of the loop's thread alone: the poller, the library, streams and listeners.
final class LoopCore {
    /// Turns of work in a row without a look at the sockets, of which only the last may run timers.
    private static let turnLimit = 8

    let members: LoopMembers
    /// Watches the sockets of open streams and of listeners.
    let poller: Poller
    let library: Library

    init?(loop: any ThreadedLoop, resolver: Resolver) {
        guard let poller = Poller() else { return nil }
        guard let library = Library(on: loop, callback: libraryCallback, poller: poller.descriptor) else {
            poller.close()
            return nil
        }
        self.members = LoopMembers(loop: loop, resolver: resolver)
        self.poller = poller
        self.library = library
    }

    /// Returns when the loop is to stop, or has been of no use for long enough.
    func run(_ mailbox: borrowing Lock<LoopMailbox>) {
        var turns = 0
        while true {
            switch self.members.take(from: mailbox) {
            case .stop, .retire: return
            case .work:
                let hadTimers = self.members.performWork(mailbox)
                self.members.flush()
                turns += 1
                // Timers judge peers: what has arrived by now is read before others are taken, however long jobs take.
                guard hadTimers || turns == Self.turnLimit else { continue }
                self.look(waitsUntil: nil, now: nil, isWaiting: false)
            case .sleep(let until, let now):
                self.look(waitsUntil: until, now: now, isWaiting: !self.poller.hasUnread && !self.members.isFlushDue)
            }
            turns = 0
            self.members.flush()
        }
    }

    /// Ends every stream and listener, and every connection of the library.
    func stop() {
        self.members.stop()
        self.library.end()
        self.poller.close()
    }

    /// Looks for what is ready, after a wait if there is nothing yet, and does what it leads to.
    private func look(waitsUntil due: Moment?, now: Moment?, isWaiting: Bool) {
        if self.library.openerCount > 0 {
            // It looks at the poller as well while it waits.
            self.poller.lookCount += self.library.openerCount
            if self.library.serve(waitsUntil: due, now: now, isWaiting: isWaiting) || !isWaiting {
                self.poller.wait(.zero)
            }
        } else if isWaiting {
            self.poller.wait(due.flatMap { due in now.map { $0.duration(to: due) } })
        } else {
            self.poller.wait(.zero)
        }
        self.poller.endTurn()
    }
}
#endif

#if OUTBOX
internal import Linkspan
internal import Logging

/// The outbox on its executor: gathers calls, and performs all that have come in one transaction.
///
/// It has no timer: calls that come while a transaction is written become the next one.
final class OutboxEngine {
    private let path: String
    let options: OutboxOptions
    private let clock: OutboxClock
    let meters: OutboxMeters
    private var file: OutboxFile? {
        didSet { if let totals = oldValue?.totals { self.former = totals } }
    }
    /// The totals of the file that was closed last.
    ///
    /// The next file goes on with its numbers and places.
    private var former = OutboxTotals()
    private var isClosed = false
    /// True between `suspend` and `resume`: the file is closed and calls are queued.
    private var isSuspended = false
    private var calls: [OutboxCall] = []
    /// Outcomes that could not be recorded, and are tried again with each transaction.
    private var unrecorded: [StoredDelivery] = []
    private var waits: [(wait: EntryWait, answer: @Sendable () -> Void)] = []
    private var openings: [String?: Opening] = [:]
    /// The events of each account whose transactions have failed; the next one of the account counts them.
    private var failed: [String?: Int] = [:]
    /// Whether the last attempt to record a received event succeeded.
    ///
    /// A series of failed writes is logged once, at its first event.
    private var isRecording = true
    private let gauge: OutboxGauge

    /// An account that a connection has open, and the connections that wait for it.
    private struct Opening {
        /// The last row that there was.
        var last: UInt64
        /// True once a connection was given the account's last session.
        var hasTakenSession = false
        var waiting: [@Sendable (Result<Void, any Error>) -> Void] = []
    }

    init(path: String, options: OutboxOptions, clock: OutboxClock, gauge: OutboxGauge, meters: OutboxMeters) {
        self.meters = meters
        self.gauge = gauge
        self.path = path
        self.options = options
        self.clock = clock
    }
}

// MARK: - Transactions

extension OutboxEngine {
    /// Adds a call to the next transaction.
    ///
    /// - Returns: whether the caller must begin that transaction.
    func add(_ call: OutboxCall) -> Bool {
        if self.isSuspended, call.kind == .glance {
            call.fail(OutboxError(.inUse, "'\(self.path)' is suspended"))
            return false
        }
        self.calls.append(call)
        return self.calls.count == 1
    }

    /// Performs the calls that have come, in their order.
    ///
    /// - Returns: false when they go on waiting for the file.
    func performCalls() -> Bool {
        // They are performed when the outbox goes on.
        guard !self.isSuspended, !self.calls.isEmpty else { return true }
        let calls = self.calls
        do {
            let file = try self.openFile()
            self.calls = []
            self.perform(calls, in: file)
        } catch  where error.code == .inUse && self.options.waitsWhenInUse {
            for call in calls where call.kind == .glance { call.fail(error) }
            self.calls.removeAll { $0.kind == .glance }
            return false
        } catch {
            self.gauge.show(error)
            self.calls = []
            for call in calls {
                self.meters.failed()
                call.fail(error)
            }
        }
        return true
    }

    private func openFile() throws(OutboxError) -> OutboxFile {
        guard !self.isClosed else { throw OutboxError(.closed, "'\(self.path)' was closed") }
        if let file = self.file {
            guard !file.isInPlace else { return file }
            do {
                try file.restore()
            } catch {
                if file.isClosed { self.file = nil }
                throw error
            }
            return file
        }
        let file = try OutboxFile(
            path: self.path, options: self.options, clock: self.clock, after: self.former)
        self.file = file
        return file
    }

    private func perform(_ calls: [OutboxCall], in file: OutboxFile) {
        self.recordLate(in: file)
        var calls = calls
        if calls.contains(where: { $0.kind == .keep }) { file.ensureReserve() }
        if let refusal = file.refusal {
            for call in calls where call.kind == .keep { call.fail(refusal) }
            calls.removeAll { $0.kind == .keep }
        }
        do throws(OutboxError) {
            let begin = ContinuousClock.now
            let answers = try file.perform(calls)
            let now = ContinuousClock.now
            self.meters.committed(file.totals, in: now - begin)
            if self.gauge.show(file.totals, refusal: file.refusal, at: now, oldest: file.oldestAge) {
                self.meters.aged(self.gauge.oldest)
            }
            for answer in answers { answer() }
            self.endWaits { $0.isOver(file.totals) }
            file.checkpoint()
        } catch {
            // One by one, so that one that cannot be done leaves the others alone.
            for call in calls { self.performAlone(call, in: file) }
        }
    }

    private func performAlone(_ call: OutboxCall, in file: OutboxFile, isSecondTry: Bool = false) {
        do throws(OutboxError) {
            for answer in try file.perform([call]) { answer() }
            self.endWaits { $0.isOver(file.totals) }
        } catch {
            if !isSecondTry, self.hasMended(file, after: error, for: call) {
                self.performAlone(call, in: file, isSecondTry: true)
            } else {
                self.meters.failed()
                call.fail(error)
            }
        }
    }

    /// Tries to remove the reason of a failure.
    private func hasMended(_ file: OutboxFile, after error: OutboxError, for call: OutboxCall) -> Bool {
        switch error.code {
        case .diskFull where call.kind != .keep:
            file.makeRoom()
            return true
        case .corrupt:
            do throws(OutboxError) {
                try file.startAnew(because: error)
                return true
            } catch {
                self.options.logger.error("The outbox has failed", metadata: ["error": "\(error)"])
                self.file = nil
                return false
            }
        default:
            return false
        }
    }

    /// The number of events of an account whose transactions have failed since the last call.
    func takeFailed(_ account: String?) -> Int { self.failed.removeValue(forKey: account) ?? 0 }

    /// Remembers that a transaction with events has failed.
    func noteFailed(_ count: Int, _ account: String?) { self.failed[account, default: 0] += count }

    /// Logs that an event could not be recorded, when the one before could.
    func noteRecording(_ isRecorded: Bool) {
        if !isRecorded, self.isRecording {
            self.options.logger.error("Received events cannot be recorded", metadata: ["path": "\(self.path)"])
        }
        self.isRecording = isRecorded
    }

    /// Remembers an outcome that could not be recorded.
    func keepForLater(_ delivery: StoredDelivery, _ error: OutboxError) {
        if self.unrecorded.isEmpty {
            self.options.logger.error("Outcomes cannot be recorded", metadata: ["error": "\(error)"])
        }
        self.unrecorded.append(delivery)
    }

    private func recordLate(in file: OutboxFile) {
        guard !self.unrecorded.isEmpty else { return }
        let calls = self.unrecorded.map { delivery in
            OutboxCall(.other, perform: { try $0.end(delivery) }, answer: { _ in })
        }
        guard (try? file.perform(calls)) != nil else { return }
        self.unrecorded = []
    }

    /// Forgets the late outcomes of rows that were erased: a new row may have the same key.
    func forgetOutcomes(where isErased: (StoredDelivery) -> Bool) { self.unrecorded.removeAll(where: isErased) }

    /// A row of the file, with the outcome that could not be recorded there.
    func withLateOutcome(_ row: StoredDelivery) -> StoredDelivery {
        let late = self.unrecorded.first { $0.key == row.key && $0.account == row.account }
        guard row.outcome == nil, let late else { return row }
        // Not the delivery of the connection, which knows no number: pages are read from one to the next.
        var row = row
        row.outcome = late.outcome
        return row
    }
}

// MARK: - Waiting for entries

extension OutboxEngine {
    /// Answers when there is an entry after a place.
    func begin(_ wait: EntryWait, _ answer: @escaping @Sendable () -> Void) {
        guard !self.isClosed, self.file.map({ !wait.isOver($0.totals) }) ?? true else { return answer() }
        self.waits.append((wait, answer))
    }

    /// Answers a wait that is over; nothing happens when it was answered.
    func end(_ wait: EntryWait) { self.endWaits { $0 === wait } }

    private func endWaits(where isOver: (EntryWait) -> Bool) {
        guard !self.waits.isEmpty else { return }
        let over = self.waits.filter { isOver($0.wait) }
        self.waits.removeAll { isOver($0.wait) }
        for (_, answer) in over { answer() }
    }
}

/// A wait for an entry after a place.
final class EntryWait: Sendable {
    /// The place of the last entry of a kind.
    typealias Last = any KeyPath<OutboxTotals, Int64> & Sendable

    private let last: Last
    private let place: Int64

    init(_ last: Last, after place: Int64) {
        self.last = last
        self.place = place
    }

    /// Whether there is or was an entry after the place.
    func isOver(_ totals: OutboxTotals) -> Bool { totals[keyPath: self.last] > self.place }
}

// MARK: - Accounts

extension OutboxEngine {
    /// Opens an account for one connection at a time; the next one waits.
    func open(_ account: String?, last: UInt64, _ answer: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        guard self.openings[account] == nil else {
            self.openings[account]?.waiting.append(answer)
            return
        }
        self.openings[account] = Opening(last: last)
        answer(.success(()))
    }

    /// Whether a connection may resume the last session of an account: the first that opened the account.
    func takesSession(_ account: String?) -> Bool {
        guard self.openings[account]?.hasTakenSession == false else { return false }
        self.openings[account]?.hasTakenSession = true
        return true
    }

    /// The last row that was there when an account was opened.
    func last(_ account: String?) -> UInt64 { self.openings[account]?.last ?? 0 }

    /// Closes an account, and opens it for the connection that has waited longest.
    func close(_ account: String?, last: UInt64) {
        guard var opening = self.openings[account], !opening.waiting.isEmpty else {
            self.openings[account] = nil
            return
        }
        let next = opening.waiting.removeFirst()
        opening.last = last
        self.openings[account] = opening
        next(.success(()))
    }

    /// Closes the file, and has calls wait.
    func suspend() {
        self.isSuspended = true
        self.file = nil
    }

    /// Performs calls again.
    ///
    /// - Returns: whether there are any.
    func resume() -> Bool {
        self.isSuspended = false
        return !self.calls.isEmpty
    }

    /// Closes the file; calls fail from now on.
    func close() {
        self.isClosed = true
        self.file = nil
        self.endWaits { _ in true }
    }
}
#endif

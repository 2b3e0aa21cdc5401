@testable import Linkspan

/// What can be wrong with a ``History``.
enum Verdict: String, Sendable, CaseIterable {
    /// Called a success, and never seen where it had to arrive.
    case lost
    /// Seen more often than was promised.
    case duplicated
    /// Seen before what had to come first.
    case reordered
    /// Its caller heard of it more than once.
    case twoOutcomes
    /// Its caller never heard of it, or not whether it may have been received.
    case noOutcome
    /// Called `.notSent`, and received.
    case falselyUnsent
    /// Not over when it had to be.
    case stuck
    /// Answered with the reply to something else.
    case misanswered
    /// Still there when all was given back.
    case leftOver
}

/// One thing that is wrong.
struct Violation: Sendable, CustomStringConvertible {
    let verdict: Verdict
    let text: String

    var description: String { "\(self.verdict.rawValue): \(self.text)" }
}

extension History {
    /// Everything that is wrong; empty when nothing is.
    var violations: [Violation] {
        self.lost + self.duplicated + self.reordered + self.badOutcomes + self.falselyUnsent + self.stuck
            + self.misanswered + self.leftovers
    }

    private var lost: [Violation] {
        let (taken, applied) = (Set(self.taken.map(\.name)), Set(self.applied.map(\.name)))
        return self.calls.filter(\.isSuccess).compactMap { call in
            if call.kind == .send {
                taken.contains(call.name) ? nil : .init(.lost, "\(call.name) is called sent, and no link took it")
            } else {
                applied.contains(call.name) ? nil : .init(.lost, "\(call.name) is called answered, and was never seen")
            }
        }
    }

    private var falselyUnsent: [Violation] {
        let seen = Set(self.taken.map(\.name)).union(self.applied.map(\.name))
        return self.calls.filter { $0.certainty == .notSent && seen.contains($0.name) }
            .map { .init(.falselyUnsent, "\($0.name) is called unsent, and was taken by a link") }
    }

    private var misanswered: [Violation] {
        self.calls.filter { $0.kind != .send }.compactMap { call in
            guard let reply = call.ends.first?.reply, reply != "\"\(call.name)\"" else { return nil }
            return .init(.misanswered, "\(call.name) was answered with \(reply)")
        }
    }

    private var leftovers: [Violation] {
        self.leftOver == 0 ? [] : [.init(.leftOver, "\(self.leftOver) connections, links or rows")]
    }
}

// MARK: - Outcomes

extension History {
    private var badOutcomes: [Violation] {
        self.calls.compactMap { call in
            let count = call.ends.count + (call.refusal == nil ? 0 : 1)
            if count > 1 { return .init(.twoOutcomes, "\(call.name) has \(count)") }
            if count == 0 { return .init(.noOutcome, "\(call.name) has none") }
            if !call.isSuccess, call.certainty == nil {
                return .init(.noOutcome, "\(call.name) failed, and nobody knows whether it was sent")
            }
            return nil
        }
    }

    /// Calls end in time, at the latest when all is well again; then the connection is up.
    private var stuck: [Violation] {
        var violations: [Violation] = self.calls.compactMap { call in
            guard let end = call.ends.first else { return nil }
            if end.isLate { return .init(.stuck, "\(call.name) ended only with the release") }
            guard let timeout = call.timeout, end.time > call.time + timeout + .milliseconds(250) else { return nil }
            return .init(.stuck, "\(call.name) had \(timeout) and took \(end.time - call.time)")
        }
        if let quietState, quietState != .connected {
            violations.append(.init(.stuck, "the connection is \(quietState) after the last fault"))
        }
        return violations + self.unrepeated
    }

    /// A delivery that is not answered is sent again when its wait is over, unless the link has been lost or may be
    /// full.
    private var unrepeated: [Violation] {
        guard !self.isPaced else { return [] }
        let passages = Dictionary(grouping: self.taken, by: \.name)
        return self.calls.filter { $0.orderingKey != nil }.flatMap { call -> [Violation] in
            let own = passages[call.name] ?? []
            return own.enumerated().compactMap { index, passage in
                let latest = passage.time + self.deliveries.repeatAfter + .milliseconds(250)
                let next = index + 1 < own.count ? own[index + 1].time : nil
                let events = [next, call.ends.first?.time, self.losses.first { $0 >= passage.time }]
                let isDone = events.contains { event in event.map { $0 <= latest } ?? false }
                if isDone || self.slowLinks.contains(passage.link) { return nil }
                return .init(.stuck, "\(call.name) was not repeated by \(latest)")
            }
        }
    }
}

// MARK: - On the links

extension History {
    /// Sends and requests go to one link, once.
    ///
    /// A delivery goes again to the next link, and to the same one only under the same number and after its wait; not
    /// once it has ended, and not more often than its options say.
    private var duplicated: [Violation] {
        var violations: [Violation] = []
        for (name, passages) in Dictionary(grouping: self.taken, by: \.name) {
            guard let call = self.call(name), let last = passages.last else { continue }
            guard call.orderingKey != nil else {
                if passages.count > 1 { violations.append(.init(.duplicated, "\(name) \(passages.count) times")) }
                continue
            }
            if let end = call.ends.first, last.time > end.time {
                violations.append(.init(.duplicated, "\(name) was sent at \(last.time), after its end at \(end.time)"))
            }
            if let limit = self.deliveries.attempts, passages.count > limit {
                violations.append(.init(.duplicated, "\(name) was sent \(passages.count) times, of \(limit) at most"))
            }
            for (former, next) in zip(passages, passages.dropFirst()) where former.link == next.link {
                if former.requestID != next.requestID {
                    violations.append(.init(.duplicated, "\(name) has two numbers on link \(next.link)"))
                }
                if next.time - former.time < self.deliveries.repeatAfter {
                    violations.append(.init(.duplicated, "\(name) was repeated after \(next.time - former.time)"))
                }
            }
        }
        let atServer = Dictionary(grouping: self.applied, by: \.name)
        violations += atServer.compactMap { name, passages in
            guard let call = self.call(name), call.orderingKey == nil, passages.count > 1 else { return nil }
            return .init(.duplicated, "\(name) was applied \(passages.count) times")
        }
        return violations.sorted { $0.text < $1.text }
    }

    private var reordered: [Violation] {
        self.disorderOfPlain + self.disorderInQueues + self.disorderAtServer
            + self.taken.filter { !$0.isGreeted && self.indices[$0.name] != nil }
            .map { .init(.reordered, "\($0.name) went ahead of the greeting of link \($0.link)") }
    }

    /// Sends and requests leave in the order of the calls, over whatever links.
    private var disorderOfPlain: [Violation] {
        var violations: [Violation] = []
        var last = -1
        for passage in self.taken {
            guard let index = self.indices[passage.name], self.calls[index].orderingKey == nil else { continue }
            if index < last {
                violations.append(.init(.reordered, "\(passage.name) left behind \(self.calls[last].name)"))
            }
            last = max(last, index)
        }
        return violations
    }

    /// In an ordering key the next begins when the former has ended, not earlier, and none comes back.
    private var disorderInQueues: [Violation] {
        var violations: [Violation] = []
        var heads: [String: Int] = [:]
        for passage in self.taken {
            guard let index = self.indices[passage.name], let orderingKey = self.calls[index].orderingKey else {
                continue
            }
            defer { heads[orderingKey] = max(index, heads[orderingKey, default: -1]) }
            guard let head = heads[orderingKey], head != index else { continue }
            if index < head {
                violations.append(.init(.reordered, "\(passage.name) left behind \(self.calls[head].name)"))
            } else if self.calls[head].ends.first.map({ $0.time > passage.time }) ?? true {
                let text = "\(passage.name) left while \(self.calls[head].name) was under way"
                violations.append(.init(.reordered, text))
            }
        }
        return violations
    }

    /// What was answered was first applied in the order of its ordering key.
    private var disorderAtServer: [Violation] {
        var violations: [Violation] = []
        var seen: Set<String> = []
        var heads: [String: Int] = [:]
        for passage in self.applied where seen.insert(passage.name).inserted {
            guard let index = self.indices[passage.name], let orderingKey = self.calls[index].orderingKey,
                self.calls[index].isSuccess
            else { continue }
            if let head = heads[orderingKey], index < head {
                violations.append(.init(.reordered, "\(passage.name) was applied behind \(self.calls[head].name)"))
            }
            heads[orderingKey] = max(index, heads[orderingKey, default: -1])
        }
        return violations
    }
}

extension Violation {
    init(_ verdict: Verdict, _ text: String) { self.init(verdict: verdict, text: text) }
}

import ArgumentParser

/// Finds lost, doubled and reordered messages among numbers that were given from 1 on, as one receiver gets them from one
/// sender.
struct SequenceCheck: Sendable {
    /// The lowest number above all that came.
    private var next = 1
    private var missing: Set<Int> = []
    private(set) var doubled: [Int] = []
    /// The numbers that came after a higher one, the first time that they came.
    private(set) var reordered: [Int] = []
    private(set) var count = 0

    /// Takes a number.
    mutating func receive(_ number: Int) {
        self.count += 1
        if number == self.next {
            self.next += 1
        } else if number > self.next {
            self.missing.formUnion(self.next..<number)
            self.next = number + 1
        } else if self.missing.remove(number) != nil {
            self.reordered.append(number)
        } else {
            self.doubled.append(number)
        }
    }

    /// The numbers up to the last one sent that did not come.
    func lost(of sent: Int) -> Set<Int> {
        self.next > sent ? self.missing : self.missing.union(self.next...sent)
    }
}

/// The numbers of all senders at all receivers.
struct SequenceBook: Sendable {
    /// The receivers to which a server passes a message on.
    enum Audience: String, CaseIterable, Decodable, ExpressibleByArgument, Sendable {
        case none, sender, others, everyone
    }

    /// Faults, by the way on which they happened.
    struct Faults: Codable, Equatable, Sendable {
        var lost = 0
        var doubled = 0
        var reordered = 0

        /// The numbers as cells of a table.
        var texts: [String] { [self.lost, self.doubled, self.reordered].map(String.init) }

        static func + (left: Self, right: Self) -> Self {
            Self(
                lost: left.lost + right.lost, doubled: left.doubled + right.doubled,
                reordered: left.reordered + right.reordered)
        }
    }

    private struct Sender: Sendable {
        var sent = 0
        var audience = Audience.none
        /// The check of what comes back to the sender itself.
        var own = SequenceCheck()
        var others: [Int: SequenceCheck] = [:]
        /// The numbers that the server was asked to acknowledge and has not.
        var unacknowledged: Set<Int> = []
        /// The numbers whose messages could not be sent.
        var unsent: Set<Int> = []
    }

    private var senders: [Sender]

    /// A broadcast stays within one of so many namespaces, whose members have numbers that are so far apart.
    private let namespaces: Int

    /// Begins a book for senders and receivers with numbers from 0 on.
    init(_ count: Int, namespaces: Int = 1) {
        self.senders = Array(repeating: Sender(), count: count)
        self.namespaces = namespaces
    }

    /// Gives numbers to the next messages of a sender; returns the first.
    mutating func take(_ count: Int, of sender: Int, to audience: Audience, isAcknowledged: Bool = false) -> Int {
        let first = self.senders[sender].sent + 1
        self.senders[sender].sent += count
        self.senders[sender].audience = audience
        if isAcknowledged { self.senders[sender].unacknowledged.formUnion(first..<first + count) }
        return first
    }

    /// Takes a number back, because its message could not be sent.
    mutating func cancel(_ number: Int, of sender: Int) {
        self.senders[sender].unsent.insert(number)
        self.senders[sender].unacknowledged.remove(number)
    }

    /// Notes an acknowledgement.
    mutating func acknowledge(_ number: Int, of sender: Int) { self.senders[sender].unacknowledged.remove(number) }

    /// Takes a number of a sender at a receiver; false for one that was never sent.
    @discardableResult
    mutating func receive(_ number: Int, of sender: Int, at receiver: Int) -> Bool {
        guard self.senders.indices.contains(sender), number > 0, number <= self.senders[sender].sent else {
            return false
        }
        if sender == receiver {
            self.senders[sender].own.receive(number)
        } else {
            self.senders[sender].others[receiver, default: SequenceCheck()].receive(number)
        }
        return true
    }

    /// The messages that receivers were to get, and those that they got.
    ///
    /// - Parameter receivers: those that were there to receive.
    /// - Returns: how many of each.
    func progress(_ receivers: [Int]) -> (due: Int, received: Int) {
        self.senders.indices.reduce(into: (0, 0)) { sum, index in
            let (sender, checks) = (self.senders[index], self.checks(of: index, receivers))
            sum.0 += (sender.sent - sender.unsent.count) * checks.count
            sum.1 += checks.reduce(0) { $0 + $1.count - $1.doubled.count }
        }
    }

    /// The faults on the way to the server and on the way from it.
    ///
    /// What all of several receivers saw happened on the way to the server, and so did the loss of a message that the server
    /// was asked to acknowledge and did not. Of an echo without acknowledgements only the whole way is known: it counts as the
    /// way from the server.
    func faults(_ receivers: [Int]) -> (toServer: Faults, fromServer: Faults) {
        var (to, from) = (Faults(), Faults())
        for (index, sender) in self.senders.enumerated() where sender.sent > 0 {
            let checks = self.checks(of: index, receivers)
            if checks.isEmpty { to.lost += sender.unacknowledged.count }
            let lost = checks.map { $0.lost(of: sender.sent).subtracting(sender.unsent) }
            Self.divide(lost, known: sender.unacknowledged, &to.lost, &from.lost)
            Self.divide(checks.map { Set($0.doubled) }, &to.doubled, &from.doubled)
            Self.divide(checks.map { Set($0.reordered) }, &to.reordered, &from.reordered)
        }
        return (to, from)
    }

    /// Counts numbers that all receivers name, or that are known anyway, once for the server, others for each receiver.
    private static func divide(_ sets: [Set<Int>], known: Set<Int> = [], _ to: inout Int, _ from: inout Int) {
        guard let first = sets.first else { return }
        let common = sets.dropFirst().reduce(first) { $0.intersection($1) }
        let server = sets.count > 1 ? common : common.intersection(known)
        to += server.count
        from += sets.reduce(0) { $0 + $1.subtracting(server).count }
    }

    private func checks(of index: Int, _ receivers: [Int]) -> [SequenceCheck] {
        let sender = self.senders[index]
        switch sender.audience {
        case .none: return []
        case .sender: return [sender.own]
        case .others, .everyone:
            return receivers.compactMap { receiver in
                guard (receiver - index) % self.namespaces == 0 else { return nil }
                if receiver == index { return sender.audience == .everyone ? sender.own : nil }
                return sender.others[receiver] ?? SequenceCheck()
            }
        }
    }
}

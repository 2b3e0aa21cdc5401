internal import LinkspanLifecycle

/// Follows the interfaces and addresses of a Linux machine: asks for all there are, then keeps up with the changes.
///
/// A value without I/O. The path is there when an interface other than the loopback is up and running and has an
/// address that reaches further than its link.
struct RouteSession: Sendable {
    /// The next question to the kernel; it answers one at a time.
    enum Question: UInt16, Sendable {
        case links = 18
        case addresses = 22
    }

    /// The result of a datagram.
    struct Outcome: Sendable, Equatable {
        var question: Question?
        var event: NetworkEvent?
        /// The kernel's error number that ended it.
        var failure: Int32?
    }

    private var asked: Question? = .links
    private var links: [UInt32: RouteLink] = [:]
    private var addresses: [UInt32: Set<RouteAddress>] = [:]
    private var last: NetworkEvent?
    /// Whether to request everything again after the present answer.
    private var isStale = false

    /// The kernel is still answering a former question.
    private static let busy: Int32 = 16

    /// The first question.
    mutating func begin() -> Question {
        self.links = [:]
        self.addresses = [:]
        self.asked = .links
        return .links
    }

    /// Takes in a datagram.
    mutating func receive(_ bytes: [UInt8]) -> Outcome {
        var outcome = Outcome()
        for message in RouteMessage.read(bytes) {
            switch message {
            case .link(let index, let link): self.links[index] = link
            case .linkGone(let index):
                self.links[index] = nil
                self.addresses[index] = nil
            case .address(let index, let address): self.addresses[index, default: []].insert(address)
            case .addressGone(let index, let address): self.addresses[index]?.remove(address)
            case .done where self.isStale:
                self.isStale = false
                outcome.question = self.begin()
            case .done:
                self.asked = self.asked == .links ? .addresses : nil
                outcome.question = self.asked
            case .refused(Self.busy): self.isStale = true
            case .refused(let code): outcome.failure = code
            case .overrun: outcome.question = self.begin()
            }
        }
        outcome.event = self.news()
        return outcome
    }

    /// The path, if it is fully known and another than before.
    private mutating func news() -> NetworkEvent? {
        guard self.asked == nil else { return nil }
        let usable = self.links.filter { index, link in
            link.isUsable && self.addresses[index, default: []].contains { $0.isRoutable }
        }
        let kinds = Set(usable.values.map(\.kind))
        let interfaces = [.wired, .wifi, .cellular, .other].filter { kinds.contains($0) }
        let event = NetworkEvent(
            status: interfaces.isEmpty ? .unsatisfied : .satisfied, interfaces: interfaces,
            isExpensive: interfaces.first == .cellular)
        guard event.status != self.last?.status || event.interfaces != self.last?.interfaces else { return nil }
        self.last = event
        return event
    }
}

extension RouteLink {
    /// The kind of the interface, by the prefixes that systemd gives to names, and the kernel's own before.
    var kind: NetworkEvent.Interface {
        if ["en", "eth"].contains(where: { self.name.hasPrefix($0) }) { return .wired }
        if self.name.hasPrefix("wl") { return .wifi }
        if ["ww", "rmnet"].contains(where: { self.name.hasPrefix($0) }) { return .cellular }
        return .other
    }
}

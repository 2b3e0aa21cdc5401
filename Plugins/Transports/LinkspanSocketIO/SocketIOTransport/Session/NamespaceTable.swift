internal import Linkspan
internal import LinkspanRuntime

/// The namespaces of a session, by index.
///
/// The index of one that is over goes to the next name as soon as its owner has been told, so that a session is not the
/// larger for the namespaces that have left it. What is looked at after each read is kept: computed from all of them it
/// would take the longer the more there were.
struct NamespaceTable: Sendable {
    private var sessions: [NamespaceSession] = []
    /// The indices by name, of more namespaces than are compared one by one.
    private var indicesByName: [String: Int] = [:]
    /// The namespaces that are compared one by one, which takes less time and no memory.
    private static let compared = 8
    /// The number of namespaces whose owners wait for the closing event.
    private(set) var activeCount = 0
    /// The earliest deadline of a namespace; nil when none has one.
    private(set) var nextDeadline: Moment?
    /// The number behind the acknowledgements of all names whose index another one has got: nothing else is kept of them.
    private var firstAck: UInt64 = 0

    /// The number of indices in use, those included that are free for the next name.
    var count: Int { self.sessions.count }

    var indices: Range<Int> { self.sessions.indices }

    /// The namespace of an index.
    subscript(index: Int) -> NamespaceSession {
        _read { yield self.sessions[index] }
        _modify {
            let (wasActive, deadline) = (self.sessions[index].isActive, self.sessions[index].nextDeadline)
            // Also when what is done to it throws.
            defer { self.noteChange(of: index, wasActive: wasActive, deadline: deadline) }
            yield &self.sessions[index]
        }
    }

    /// Passes an event to a namespace.
    mutating func receive(
        _ message: consuming InboundMessage, at index: Int, now: Moment, output: inout SocketIOOutput
    ) {
        // In one that is connected, as most are, an event changes nothing that has to be noted.
        if self.sessions[index].isConnected {
            self.sessions[index].receive(message, now: now, output: &output)
        } else {
            self[index].receive(message, now: now, output: &output)
        }
    }

    /// The index of a name.
    func index(of namespace: SocketIONamespace) -> Int? { self.index(of: namespace.prefix.dropLast()) }

    /// The index of a name as a packet has it, without the comma and empty for `/`.
    func index(of written: ArraySlice<UInt8>) -> Int? {
        guard self.indicesByName.isEmpty else {
            assert(Growth.step())
            return self.indicesByName[written.isEmpty ? "/" : String(decoding: written, as: UTF8.self)]
        }
        // By index: iterating copies the elements.
        return self.sessions.indices.first { index in
            assert(Growth.step())
            return self.sessions[index].namespace.matches(written)
        }
    }

    /// The index for the next name: a free one, or a new one.
    var nextIndex: Int { self.sessions.indices.first { self.sessions[$0].isFree } ?? self.sessions.count }

    /// Adds a namespace that is not joined yet.
    ///
    /// - Parameters:
    ///   - session: the namespace.
    ///   - index: its index, which was ``nextIndex``.
    mutating func put(_ session: NamespaceSession, at index: Int) {
        if index < self.sessions.count {
            self.firstAck = max(self.firstAck, self.sessions[index].firstAck)
            self.indicesByName[self.sessions[index].namespace.name] = nil
            self.sessions[index] = session
        } else {
            // Most sessions have one; an array that grows by itself makes room for two.
            if index == 0 { self.sessions.reserveCapacity(1) }
            self.sessions.append(session)
        }
        if !self.indicesByName.isEmpty {
            self.indicesByName[session.namespace.name] = index
        } else if self.sessions.count > Self.compared {
            for known in self.sessions.indices { self.indicesByName[self.sessions[known].namespace.name] = known }
        }
        self.sessions[index].skipAcks(below: self.firstAck)
    }

    private mutating func noteChange(of index: Int, wasActive: Bool, deadline: Moment?) {
        let isActive = self.sessions[index].isActive
        if isActive != wasActive { self.activeCount += isActive ? 1 : -1 }
        guard self.sessions[index].nextDeadline != deadline else { return }
        self.nextDeadline = self.sessions.indices.compactMap { self.sessions[$0].nextDeadline }.min()
    }
}

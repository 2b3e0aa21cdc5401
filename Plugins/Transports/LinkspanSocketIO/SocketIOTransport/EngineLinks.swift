internal import Linkspan

/// The links of an engine: waiting for the session, in their namespaces, or leaving.
struct EngineLinks {
    /// The links that join when the session begins.
    private(set) var waiting: [SocketIOLink] = []
    /// The links in a namespace, by its index; nil where the link has ended.
    private(set) var joined: [SocketIOLink?] = []
    /// The links that have left, and their ends, which are delivered when the goodbye is sent.
    ///
    /// With the links, because another link may have joined a namespace meanwhile.
    private(set) var leaving: [(link: SocketIOLink, event: LinkEvent)] = []
    /// The links that have paused reading.
    private var pausing: Set<ObjectIdentifier> = []

    var isReadingPaused: Bool { !self.pausing.isEmpty }

    func link(at index: Int) -> SocketIOLink? {
        self.joined.indices.contains(index) ? self.joined[index] : nil
    }

    /// The index of a link's namespace; nil when it has none, or has ended.
    func index(of link: SocketIOLink) -> Int? {
        link.index.flatMap { self.link(at: $0) === link ? $0 : nil }
    }

    /// Adds a link that waits for the session; returns false when another waits for the same namespace.
    mutating func wait(_ link: SocketIOLink) -> Bool {
        guard !self.waiting.contains(where: { $0.namespace == link.namespace }) else { return false }
        self.waiting.append(link)
        return true
    }

    /// Removes a link that waits; returns whether it did.
    mutating func stopWaiting(_ link: SocketIOLink) -> Bool {
        guard let position = self.waiting.firstIndex(where: { $0 === link }) else { return false }
        self.waiting.remove(at: position)
        return true
    }

    mutating func takeWaiting() -> [SocketIOLink] {
        defer { self.waiting = [] }
        return self.waiting
    }

    mutating func join(_ link: SocketIOLink, at index: Int) {
        self.joined.append(contentsOf: repeatElement(nil, count: max(0, index + 1 - self.joined.count)))
        self.joined[index] = link
        link.index = index
    }

    /// Removes a link from its namespace; returns false when it has ended.
    mutating func remove(_ link: SocketIOLink, at index: Int) -> Bool {
        guard self.index(of: link) == index else { return false }
        self.joined[index] = nil
        link.index = nil
        return true
    }

    /// Makes the links in a namespace wait for another session.
    mutating func putBack() {
        self.waiting = self.joined.compactMap(\.self) + self.waiting
        self.joined = []
    }

    /// Keeps the end of a link until ``takeLeaving()``.
    mutating func leave(_ link: SocketIOLink, _ event: LinkEvent) { self.leaving.append((link, event)) }

    mutating func takeLeaving() -> [(link: SocketIOLink, event: LinkEvent)] {
        defer { self.leaving = [] }
        return self.leaving
    }

    /// Notes that a link pauses reading or reads on; returns whether anything changed.
    mutating func setReadingPaused(_ isPaused: Bool, for link: SocketIOLink) -> Bool {
        if isPaused { return self.pausing.insert(ObjectIdentifier(link)).inserted }
        return self.pausing.remove(ObjectIdentifier(link)) != nil
    }
}

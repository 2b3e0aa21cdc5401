internal import LinkspanMessaging

/// The changes that one page has not seen yet, at most ``InspectorRecorder/Limits/batch`` of each kind.
struct InspectorBatch: Sendable {
    var now: ContinuousClock.Instant
    var epoch: ContinuousClock.Instant
    var totals = ConnectionMeter.Counts()
    var sampled: UInt64 = 0
    var hidden = 0
    var memory = 0
    var connections: [ConnectionRow] = []
    /// The numbers of connections that the page shows and that are gone.
    var gone: [UInt64] = []
    var services: [ServiceRow] = []
    var goneServices: [String] = []
    var events: [InspectorRecorder.Event] = []
    var frames: [InspectorRecorder.Frame] = []
    var points: [InspectorRecorder.Point] = []
    /// The configuration, when it has changed.
    var settings: [InspectedSetting]?
    var transports: [String] = []

    /// Whether there is nothing that a page would show.
    var isEmpty: Bool {
        self.connections.isEmpty && self.gone.isEmpty && self.services.isEmpty && self.goneServices.isEmpty
            && self.events.isEmpty && self.frames.isEmpty && self.points.isEmpty && self.settings == nil
    }
}

/// The position of one page in the recording.
struct PageCursor: Sendable {
    /// The connection that the page shows in detail, which comes with each batch.
    var selected: UInt64?
    fileprivate var connections: [UInt64: UInt64] = [:]
    fileprivate var services: [String: UInt64] = [:]
    /// The connection and the service after which the next batch continues.
    fileprivate var connection: UInt64 = 0
    fileprivate var service = ""
    fileprivate var event: UInt64 = 0
    fileprivate var frame: UInt64 = 0
    fileprivate var point: UInt64 = 0
    fileprivate var settings: UInt64 = 0

    /// Nothing has been seen.
    init() {}
}

extension InspectorRecorder {
    /// Takes the next batch for a page.
    func batch(for cursor: inout PageCursor, now: ContinuousClock.Instant) -> InspectorBatch {
        var batch = self.emptyBatch(now: now)
        self.addConnections(to: &batch, &cursor)
        self.addServices(to: &batch, &cursor)
        batch.events = Self.next(self.events, after: &cursor.event, self.limits.batch, \.number)
        batch.frames = Self.latest(self.frames, after: &cursor.frame, self.limits.batch / 4, \.number)
        batch.points = Self.next(self.chart.points, after: &cursor.point, self.limits.batch, \.number)
        if cursor.settings != self.setup.version {
            cursor.settings = self.setup.version
            batch.settings = self.setup.settings
            batch.transports = self.setup.transports
        }
        return batch
    }

    /// Everything that is known, for a file.
    func everything(now: ContinuousClock.Instant) -> InspectorBatch {
        var batch = self.emptyBatch(now: now)
        batch.connections = self.connectionRows
        batch.services = self.serviceRows
        batch.events = Array(self.events)
        batch.frames = Array(self.frames)
        // The last minute: a file is read by programs that ask again.
        batch.points = Array(self.chart.points.suffix(60))
        batch.settings = self.setup.settings
        batch.transports = self.setup.transports
        return batch
    }

    private func emptyBatch(now: ContinuousClock.Instant) -> InspectorBatch {
        InspectorBatch(
            now: now, epoch: self.epoch, totals: self.totals, sampled: self.sampled, hidden: self.hidden,
            memory: self.chart.points.last?.memory ?? 0)
    }

    /// Adds changed rows in rotation by their numbers, so that busy ones do not starve others.
    private func addConnections(to batch: inout InspectorBatch, _ cursor: inout PageCursor) {
        for id in cursor.connections.keys where self.connections[id] == nil {
            batch.gone.append(id)
            cursor.connections[id] = nil
        }
        var changed = self.connections.filter { id, entry in
            id == cursor.selected || cursor.connections[id] != entry.version
        }
        if let selected = cursor.selected, let entry = changed.removeValue(forKey: selected) {
            batch.connections.append(entry.row)
            cursor.connections[selected] = entry.version
        }
        let ids = changed.keys.sorted()
        let start = ids.firstIndex { $0 > cursor.connection } ?? 0
        for id in (ids[start...] + ids[..<start]).prefix(self.limits.batch) {
            guard let entry = changed[id] else { continue }
            batch.connections.append(entry.row)
            cursor.connections[id] = entry.version
            cursor.connection = id
        }
    }

    private func addServices(to batch: inout InspectorBatch, _ cursor: inout PageCursor) {
        for path in cursor.services.keys where self.services[path] == nil {
            batch.goneServices.append(path)
            cursor.services[path] = nil
        }
        let paths = self.services.filter { cursor.services[$0] != $1.version }.keys.sorted()
        let start = paths.firstIndex { $0 > cursor.service } ?? 0
        for path in (paths[start...] + paths[..<start]).prefix(self.limits.batch) {
            guard let entry = self.services[path] else { continue }
            batch.services.append(entry.row)
            cursor.services[path] = entry.version
            cursor.service = path
        }
    }

    /// The next elements behind a number, the oldest first.
    private static func next<Element>(
        _ elements: some RandomAccessCollection<Element>, after number: inout UInt64, _ limit: Int,
        _ key: KeyPath<Element, UInt64>
    ) -> [Element] {
        let taken = Array(Self.rest(elements, after: number, key).prefix(limit))
        if let last = taken.last { number = last[keyPath: key] }
        return taken
    }

    /// The latest elements behind a number; those before them are skipped.
    private static func latest<Element>(
        _ elements: some RandomAccessCollection<Element>, after number: inout UInt64, _ limit: Int,
        _ key: KeyPath<Element, UInt64>
    ) -> [Element] {
        let taken = Array(Self.rest(elements, after: number, key).suffix(limit))
        if let last = taken.last { number = last[keyPath: key] }
        return taken
    }

    private static func rest<Elements: RandomAccessCollection>(
        _ elements: Elements, after number: UInt64, _ key: KeyPath<Elements.Element, UInt64>
    ) -> Elements.SubSequence {
        var (low, high) = (elements.startIndex, elements.endIndex)
        while low < high {
            let middle = elements.index(low, offsetBy: elements.distance(from: low, to: high) / 2)
            if elements[middle][keyPath: key] > number { high = middle } else { low = elements.index(after: middle) }
        }
        return elements[low...]
    }
}

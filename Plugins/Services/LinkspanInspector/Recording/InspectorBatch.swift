internal import DequeModule
internal import LinkspanMessaging

/// The changes that one page has not seen yet, at most ``InspectorRecorder/Limits/batch`` of each kind; times are
/// milliseconds of the recording.
struct InspectorBatch: Sendable, Encodable {
    /// The messages of all connections, exactly, and the state of the process.
    struct Totals: Sendable, Encodable {
        let counts: ConnectionMeter.Counts
        /// Sampled messages.
        let sampled: UInt64
        /// Connections that are not shown.
        let hidden: Int
        let memory: Int

        private enum Key: CodingKey { case sampled, hidden, memory }

        func encode(to encoder: any Encoder) throws {
            try self.counts.encode(to: encoder)
            var totals = encoder.container(keyedBy: Key.self)
            try totals.encode(self.sampled, forKey: .sampled)
            try totals.encode(self.hidden, forKey: .hidden)
            try totals.encode(self.memory, forKey: .memory)
        }
    }

    let now: Int64
    let totals: Totals
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
    var transports: [String]?
}

/// The position of one page in the recording.
struct PageCursor: Sendable {
    /// The rows of a table that the page has seen.
    fileprivate struct Table<Key: Hashable & Comparable & Sendable>: Sendable {
        private var versions: [Key: UInt64] = [:]
        /// The row after which the next batch continues.
        private var last: Key?

        /// Takes changed rows in rotation by their keys, so that busy ones do not starve others, and the keys of rows
        /// that are gone.
        mutating func take<Row>(
            _ rows: [Key: InspectorRecorder.Versioned<Row>], first: Key? = nil, limit: Int
        ) -> (rows: [Row], gone: [Key]) {
            let gone = self.versions.keys.filter { rows[$0] == nil }
            for key in gone { self.versions[key] = nil }
            let changed = rows.filter { $0 != first && self.versions[$0] != $1.version }.keys.sorted()
            let start = changed.firstIndex { key in self.last.map { key > $0 } ?? true } ?? 0
            let turn = (changed[start...] + changed[..<start]).prefix(limit)
            self.last = turn.last ?? self.last
            let keys = (first.map { [$0] } ?? []) + turn
            let taken = keys.compactMap { key in rows[key].map { (key, $0) } }
            for (key, entry) in taken { self.versions[key] = entry.version }
            return (taken.map(\.1.row), gone)
        }
    }

    /// The connection that the page shows in detail, which comes with each batch.
    var selected: UInt64?
    fileprivate var connections = Table<UInt64>()
    fileprivate var services = Table<String>()
    fileprivate var event: UInt64 = 0
    fileprivate var frame: UInt64 = 0
    fileprivate var point: UInt64 = 0
    fileprivate var settings: UInt64 = 0
}

extension InspectorRecorder {
    /// Takes the next batch for a page.
    func batch(for cursor: inout PageCursor, now: ContinuousClock.Instant) -> InspectorBatch {
        var batch = self.emptyBatch(now: now)
        let limit = self.limits.batch
        (batch.connections, batch.gone) = cursor.connections.take(
            self.connections, first: cursor.selected, limit: limit)
        (batch.services, batch.goneServices) = cursor.services.take(self.services, limit: limit)
        batch.events = Self.rest(self.events, after: &cursor.event) { $0.prefix(limit) }
        // Of a flood of frames the latest are shown.
        batch.frames = Self.rest(self.frames, after: &cursor.frame) { $0.suffix(limit / 4) }
        batch.points = Self.rest(self.chart.points, after: &cursor.point) { $0.prefix(limit) }
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
            now: self.milliseconds(now),
            totals: InspectorBatch.Totals(
                counts: self.totals, sampled: self.sampled, hidden: self.hidden,
                memory: self.chart.points.last?.memory ?? 0))
    }

    /// The elements behind a number that `pick` takes.
    private static func rest<Element: Numbered>(
        _ elements: Deque<Element>, after number: inout UInt64, _ pick: (Slice<Deque<Element>>) -> Slice<Deque<Element>>
    ) -> [Element] {
        let start = elements.lastIndex { [number] in $0.number <= number }.map { $0 + 1 } ?? 0
        let taken = Array(pick(elements[start...]))
        number = taken.last?.number ?? number
        return taken
    }
}

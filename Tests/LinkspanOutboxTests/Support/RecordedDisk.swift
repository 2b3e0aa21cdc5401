#if OUTBOX && Metrics
internal import CRecordingDisk
internal import Foundation
internal import LinkspanRuntime

/// All that was done to the files of a folder, and what a disk may hold of it after power was lost.
final class RecordedDisk: Sendable {
    /// What was done, in its order.
    enum Step: Sendable {
        case write(file: String, offset: Int, bytes: [UInt8])
        case truncate(file: String, size: Int)
        case sync(file: String)
        case delete(file: String)
        /// Something that the test wants to find in the sequence.
        case mark(String)

        var file: String? {
            switch self {
            case .write(let file, _, _), .truncate(let file, _), .sync(let file), .delete(let file): file
            case .mark: nil
            }
        }
    }

    private static let disks = Lock<[String: RecordedDisk]>([:])
    private static let isInstalled: Bool =
        recording_disk_install { action, path, offset, bytes, count in
            guard let path else { return }
            RecordedDisk.note(
                action, String(cString: path), Int(offset), UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        } == 0

    private let folder: String
    private let recorded = Lock<[Step]>([])

    /// Records what is done in a folder, to databases that are opened from now on.
    init(folder: String) {
        precondition(Self.isInstalled)
        self.folder = folder
        Self.disks.withLock { $0[folder] = self }
    }

    /// Has writes and syncs in the folder fail from the so-manieth on.
    func fail(from first: Int, _ result: Int32) { recording_disk_fail(self.folder, Int64(first), result) }

    /// Has nothing fail any more.
    ///
    /// - Returns: whether anything has failed.
    func recover(failedFrom first: Int) -> Bool {
        defer { recording_disk_fail(nil, 0, 0) }
        return recording_disk_attempts() > first
    }

    var steps: [Step] { self.recorded.withLock { $0 } }

    func mark(_ text: String) { self.recorded.withLock { $0.append(.mark(text)) } }

    /// Ends the recording.
    func stop() { Self.disks.withLock { $0[self.folder] = nil } }

    private static func note(_ action: Int32, _ path: String, _ offset: Int, _ bytes: UnsafeRawBufferPointer) {
        guard let slash = path.lastIndex(of: "/"), let disk = self.disks.withLock({ $0[String(path[..<slash])] }) else {
            return
        }
        let file = String(path[path.index(after: slash)...])
        let step: Step? =
            switch recording_disk_action(rawValue: UInt32(action)) {
            case recording_disk_write: .write(file: file, offset: offset, bytes: Array(bytes))
            case recording_disk_truncate: .truncate(file: file, size: offset)
            case recording_disk_sync: .sync(file: file)
            case recording_disk_delete: .delete(file: file)
            default: nil
            }
        if let step { disk.recorded.withLock { $0.append(step) } }
    }
}

/// What a disk holds while it is written to: of each file what has reached it for certain, and what may have.
struct DiskState {
    private struct File {
        /// As of the latest sync.
        var certain: [UInt8]?
        /// What was done since.
        var pending: [RecordedDisk.Step] = []
        /// Whether it is new: SQLite syncs the folder of such a file with it.
        var isNew = true

        /// Takes all over that has reached the disk with the folder: deletions, and what was before them.
        mutating func folderSynced() {
            guard let last = self.pending.lastIndex(where: { if case .delete = $0 { true } else { false } }) else {
                return
            }
            self.certain = DiskState.contents(self.certain, Array(self.pending[...last]))
            self.pending.removeSubrange(...last)
        }
    }

    private var files: [String: File] = [:]

    /// Takes a step over.
    mutating func take(_ step: RecordedDisk.Step) {
        guard let name = step.file else { return }
        if case .sync = step {
            let file = self.files[name] ?? File()
            if file.isNew { for other in self.files.keys { self.files[other]?.folderSynced() } }
            self.files[name] = File(
                certain: Self.contents(file.certain, file.pending) ?? [], pending: [], isNew: false)
        } else {
            self.files[name, default: File()].pending.append(step)
            if case .delete = step { self.files[name]?.isNew = true }
        }
    }

    /// How many steps may have reached the disk or not.
    var pendingCount: Int { self.files.values.reduce(0) { $0 + $1.pending.count } }

    /// The files that a loss of power may leave.
    ///
    /// - Parameter reaches: whether a step that is not certain has reached the disk; a write may have in part.
    /// - Returns: the contents by name.
    func remains(_ reaches: (Int) -> Remainder) -> [String: [UInt8]] {
        var (number, remains) = (0, [String: [UInt8]]())
        for (name, file) in self.files.sorted(by: { $0.key < $1.key }) {
            var steps: [RecordedDisk.Step] = []
            // What comes behind a deletion is another file: where the deletion is not, that has no name.
            var isNamed = true
            for step in file.pending {
                defer { number += 1 }
                guard isNamed else { continue }
                switch (reaches(number), step) {
                case (.none, .delete): isNamed = false
                case (.none, _): ()
                case (.all, _): steps.append(step)
                case (.sectors(let count), .write(let file, let offset, let bytes)):
                    // Whole sectors of the file, from the one in which the write begins.
                    let end = (offset / 512 + count) * 512 - offset
                    steps.append(.write(file: file, offset: offset, bytes: Array(bytes.prefix(max(0, end)))))
                case (.sectors, _): steps.append(step)
                }
            }
            remains[name] = Self.contents(file.certain, steps)
        }
        return remains
    }

    /// What of a step has reached the disk.
    enum Remainder {
        case none, all
        /// The first sectors of a write.
        case sectors(Int)
    }

    private static func contents(_ contents: [UInt8]?, _ steps: [RecordedDisk.Step]) -> [UInt8]? {
        var contents = contents
        for step in steps {
            switch step {
            case .write(_, let offset, let bytes):
                var changed = contents ?? []
                let missing = offset + bytes.count - changed.count
                if missing > 0 { changed += [UInt8](repeating: 0, count: missing) }
                changed.replaceSubrange(offset..<offset + bytes.count, with: bytes)
                contents = changed
            case .truncate(_, let size):
                let changed = contents ?? []
                contents = Array(changed.prefix(size)) + [UInt8](repeating: 0, count: max(0, size - changed.count))
            case .delete: contents = nil
            case .sync, .mark: ()
            }
        }
        return contents
    }
}
#endif

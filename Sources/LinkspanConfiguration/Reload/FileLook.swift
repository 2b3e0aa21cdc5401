internal import LinkspanRuntime

/// The state of a file at one moment.
struct FileLook: Sendable, Hashable {
    /// The content, or the reason why there is none.
    enum Content: Sendable, Hashable {
        case text(FileText)
        case failure(String)
    }

    /// The identity of the file, and the time of its last change; nil if there was none.
    var identity: RegularFile.Identity?
    var content: Content
}

extension FileLook {
    /// Looks at a file.
    ///
    /// The whole file is read: two edits may fall into one tick of the file system's clock, and the file is small.
    init(_ path: String, by snapshots: inout RegularFile.Snapshots) {
        let snapshot = snapshots.take(path, limit: FileText.limit)
        self.init(identity: snapshot.identity, content: Content(snapshot.bytes))
    }
}

extension FileLook.Content {
    init(_ path: String) {
        do {
            self = .text(try FileText(path: path))
        } catch {
            self = .failure(error.reason)
        }
    }

    fileprivate init(_ bytes: Result<[UInt8], RegularFile.Failure>) {
        do throws(RegularFile.Failure) {
            self = .text(try FileText(bytes: try bytes.get()))
        } catch {
            self = .failure(error.reason)
        }
    }
}

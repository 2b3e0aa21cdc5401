#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import LinkspanRuntime

/// Takes the blobs out of a value while it is encoded, in the order in which the encoder meets them.
final class AttachmentCollector: Sendable {
    private let firstIndex: Int
    /// Never contended: an encoder's `userInfo` has to be Sendable.
    private let found = Lock<[ArraySlice<UInt8>]>([])

    init(firstIndex: Int) { self.firstIndex = firstIndex }

    var attachments: [ArraySlice<UInt8>] { self.found.withLock { $0 } }

    /// Keeps a blob and returns the index of its placeholder.
    func add(_ data: Data) -> Int {
        self.found.withLock { found in
            found.append(Array(data)[...])
            return self.firstIndex + found.count - 1
        }
    }
}

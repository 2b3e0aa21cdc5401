#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

// Unchecked because an encoder's strategy has to be Sendable; encoding does not leave the thread that encodes.
/// Takes the blobs out of a value while it is encoded, in the order in which the encoder meets them.
final class AttachmentCollector: @unchecked Sendable {
    private let firstIndex: Int
    private(set) var attachments: [ArraySlice<UInt8>] = []

    init(firstIndex: Int) { self.firstIndex = firstIndex }

    /// Keeps a blob and returns the index of its placeholder.
    func add(_ data: Data) -> Int {
        self.attachments.append(Array(data)[...])
        return self.firstIndex + self.attachments.count - 1
    }
}

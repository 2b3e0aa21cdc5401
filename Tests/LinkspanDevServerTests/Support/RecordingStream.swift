internal import Linkspan
internal import LinkspanNetwork

/// A stream whose peer takes everything.
final class RecordingStream: ByteStream {
    let pendingBytes = 0
    private(set) var output: [UInt8] = []
    private(set) var hasEnded = false

    /// What was written.
    var text: String { String(decoding: self.output, as: UTF8.self) }

    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard !self.hasEnded else { return .refused }
        fill(&self.output)
        return .accepted
    }

    func finish(readingAtMost limit: Int) { self.hasEnded = true }

    func abort() { self.hasEnded = true }

    func setReadingPaused(_ isPaused: Bool) {}
}

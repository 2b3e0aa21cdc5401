import Foundation
import LinkspanRuntime
import Testing

@Suite("A flag") struct FlagTests {
    private final class Owner: Sendable { let flag = Flag() }

    @Test("is not raised at first, and stays raised for every thread once it was")
    func isSeenByOtherThreads() async {
        let owner = Owner()
        #expect(!owner.flag.isRaised)
        await withCheckedContinuation { continuation in
            Thread {
                owner.flag.raise()
                continuation.resume()
            }.start()
        }
        #expect(owner.flag.isRaised)
        owner.flag.raise()
        #expect(owner.flag.isRaised)
    }
}

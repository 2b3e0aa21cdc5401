internal import Foundation
internal import LinkspanRuntime
internal import Testing

@Suite("A flag") struct FlagTests {
    private final class Owner: Sendable {
        private let flag = Flag()

        var isRaised: Bool { self.flag.isRaised }

        func raise() { self.flag.raise() }
    }

    @Test
    func `is not raised at first, and stays raised for every thread once it was`() async {
        let owner = Owner()
        #expect(!owner.isRaised)
        await withCheckedContinuation { continuation in
            Thread {
                owner.raise()
                continuation.resume()
            }.start()
        }
        #expect(owner.isRaised)
        owner.raise()
        #expect(owner.isRaised)
    }
}

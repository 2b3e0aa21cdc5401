internal import LinkspanWebSocket
internal import Testing

@Suite("Meanings of close codes")
struct CloseMeaningsTests {
    @Test
    func `of overlapping ranges the last one holds`() {
        let meanings: CloseMeanings = [4000...4099: .stop, 4007...4007: .credentialsRefused]
        #expect(meanings[4000] == .stop)
        #expect(meanings[4007] == .credentialsRefused)
        #expect(meanings[4099] == .stop)
        #expect(meanings[3999] == nil)
        #expect(meanings[4100] == nil)
    }

    @Test
    func `a code can be given another meaning, and the usual one back`() {
        var meanings: CloseMeanings = [:]
        meanings.set(.retryLater, for: 0...UInt16.max)
        meanings[1001] = .stop
        meanings.set(nil, for: 4000...4999)
        #expect(meanings[1001] == .stop)
        #expect(meanings[1000] == .retryLater)
        #expect(meanings[3999] == .retryLater)
        #expect(meanings[4000] == nil)
        #expect(meanings[4999] == nil)
        #expect(meanings[5000] == .retryLater)
        meanings.set(nil, for: 0...UInt16.max)
        #expect(meanings == [:])
        #expect(meanings.text == "as usual")
    }
}

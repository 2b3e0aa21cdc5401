internal import Testing

@testable internal import LinkspanLifecycle

@Suite("Suggestions for misspelled names")
struct SuggestionTests {
    @Test(
        arguments: [
            ("logging", "logging"), ("LOGGING", "logging"), ("loging", "logging"), ("loggging", "logging"),
            ("lodging", "logging"), ("lgoging", "logging"), ("lgoggin", "logging"), ("metric", "metrics"),
            // Of n letters a third may be wrong, rounded up, but never more than three.
            ("ba", "ab"), ("cd", nil), ("xyb", nil),
            ("abxy", "ab"), ("abxyz", nil), ("bacdxyz", nil), ("logginxxx", "logging"),
            ("loggingxxx", "logging"), ("loggingxxxx", nil), ("gnigggol", nil), ("", nil),
        ] as [(String, String?)])
    func `are the names with the fewest wrong letters`(name: String, meant: String?) {
        #expect(Suggestion.closest(to: name, among: ["metrics", "logging", "ab"]) == meant)
    }

    @Test
    func `are the first by name of two that are as close, and none for what is no slip of the pen`() {
        #expect(Suggestion.closest(to: "c", among: ["b", "a"]) == "a")
        #expect(Suggestion.closest(to: "a", among: []) == nil)
        let long = String(repeating: "a", count: 99)
        #expect(Suggestion.closest(to: long + "a", among: [long]) == long)
        #expect(Suggestion.closest(to: long + "aa", among: [long]) == nil)
    }
}

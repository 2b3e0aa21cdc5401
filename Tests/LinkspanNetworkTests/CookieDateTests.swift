internal import LinkspanNetwork
internal import Testing

@Suite("Dates of cookies")
struct CookieDateTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 8:49:37 1994", 784_111_777), ("31 january 2024 1:2:3", 1_706_662_923),
            ("29 Feb 2000 00:00:00", 951_782_400), ("1 Mar 2000 00:00:00", 951_868_800),
            ("1 Mar 1900 00:00:00", -2_203_891_200), ("1 Mar 2100 00:00:00", 4_107_542_400),
            ("31 Dec 1999 23:59:59", 946_684_799), ("1 Jan 1601 00:00:00", -11_644_473_600),
            ("1 Jan 2101 00:00:00", 4_133_980_800), ("15 Aug 2026 00:00:00", 1_786_752_000),
            ("1 Jan 69 00:00:00", 3_124_224_000), ("1 Jan 70 00:00:00", 0), ("1 Jan 00 00:00:00", 946_684_800),
        ])
    func `are read in each form that is in use`(text: String, seconds: Int) {
        #expect(CookieDate.seconds(text[...]) == seconds)
    }

    @Test(arguments: [
        "", "6 Nov 1994", "Nov 1994 08:49:37", "6 1994 08:49:37", "6 Nov 08:49:37", "0 Nov 1994 08:49:37",
        "32 Nov 1994 08:49:37", "6 Nov 100 08:49:37", "6 Nov 1600 08:49:37",
        "6 Nov 19940 08:49:37", "6 Nov 1994 24:49:37",
        "6 Nov 1994 08:60:37", "6 Nov 1994 08:49:60", "6 Nov 1994 08:49", "6 Nov 1994 008:49:37",
        "6 Nov 1994 08:049:37", "6 Nov 1994 x8:49:37", "6 Nov 1994 08:-9:37", "6 Nov 1994 08:49:x",
    ])
    func `without a day, a month, a year or a time that exist are none`(text: String) {
        #expect(CookieDate.seconds(text[...]) == nil)
    }
}

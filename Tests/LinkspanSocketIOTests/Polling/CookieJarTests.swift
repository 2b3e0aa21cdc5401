internal import Testing

@testable import LinkspanSocketIO

@Suite("Cookies of polls")
struct CookieJarTests {
    private static let path = "/socket.io/"

    private static func jar(_ headers: String...) -> CookieJar {
        var jar = CookieJar()
        for header in headers { jar.set(header, path: Self.path) }
        return jar
    }

    @Test
    func `cookies of a server are sent back (E27)`() {
        #expect(
            Self.jar("io=abc; Path=/; HttpOnly", "route=\"n,1\"").header(path: Self.path, isSecure: false)
                == "io=abc; route=\"n,1\"")
        #expect(Self.jar().header(path: Self.path, isSecure: true) == nil)
    }

    @Test(arguments: [(4_096, true), (4_097, false)])
    func `a cookie whose header has more than 4096 bytes is ignored`(size: Int, isTaken: Bool) {
        let start = "a=1; padding="
        let header = start + String(repeating: "x", count: size - start.utf8.count)
        #expect(Self.jar(header).header(path: Self.path, isSecure: false) == (isTaken ? "a=1" : nil))
    }

    @Test
    func `a later cookie of the name replaces the former, and an age of nothing removes it`() {
        #expect(Self.jar("a=1", "a=2").header(path: Self.path, isSecure: false) == "a=2")
        #expect(Self.jar("a=1", "a=; Max-Age=0").header(path: Self.path, isSecure: false) == nil)
        #expect(Self.jar("a=1", "a=1; max-age=-5").header(path: Self.path, isSecure: false) == nil)
    }

    @Test(arguments: [
        "Expires=Thu, 01 Jan 1970 00:00:00 GMT", "expires=Thu, 01-Jan-1970 00:00:01 GMT",
        "Expires=Thursday, 01-Jan-70 00:00:00 GMT", "Expires=Thu Jan  1 00:00:00 1970",
        "Expires=Sat, 14 Nov 2026 12:00:00 GMT", "Max-Age=-99999999999999999999",
        "Max-Age=0; Expires=Wed, 01 Jan 2098 00:00:00 GMT",
    ])
    func `a cookie that has expired is removed`(attribute: String) {
        var jar = CookieJar()
        // 2026-11-14, 12:00:00 UTC.
        jar.set("a=1", path: Self.path, now: 1_794_657_600)
        jar.set("a=; Path=/socket.io; \(attribute)", path: Self.path, now: 1_794_657_600)
        #expect(jar.header(path: Self.path, isSecure: true, now: 1_794_657_600) == nil)
    }

    @Test(arguments: [
        "Expires=Sat, 14 Nov 2026 12:00:01 GMT", "Expires=yesterday", "Expires=Thu, 01 Jan 1970 24:00:00 GMT",
        "Expires=Thu, 01 Foo 1970 00:00:00 GMT", "Expires", "Max-Age=99999999999999999999", "Max-Age=-", "Max-Age=+0",
        "Max-Age=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "Max-Age=0; Max-Age=1",
    ])
    func `a cookie that has not expired, or whose date cannot be read, is kept`(attribute: String) {
        var jar = CookieJar()
        jar.set("a=1; \(attribute)", path: Self.path, now: 1_794_657_600)
        #expect(jar.header(path: Self.path, isSecure: true, now: 1_794_657_600) == "a=1")
    }

    @Test(arguments: ["Max-Age=60", "Expires=Sat, 14 Nov 2026 12:01:00 GMT"])
    func `a cookie is sent until it expires`(attribute: String) {
        var jar = CookieJar()
        jar.set("a=1; \(attribute)", path: Self.path, now: 1_794_657_600)
        #expect(jar.header(path: Self.path, isSecure: true, now: 1_794_657_659) == "a=1")
        #expect(jar.header(path: Self.path, isSecure: true, now: 1_794_657_660) == nil)
    }

    @Test
    func `a secure cookie goes over TLS only, one of another path nowhere`() {
        let jar = Self.jar("a=1; Secure", "b=2; Path=/other", "c=3; Path=/socket.io", "d=4; Path=/sock")
        #expect(jar.header(path: Self.path, isSecure: false) == "c=3")
        #expect(jar.header(path: Self.path, isSecure: true) == "a=1; c=3")
    }

    @Test(arguments: [
        "", "a", "=1", "a=1\r\nX: 2", "a b=1", "a=\u{7F}", "a=é", "a=" + String(repeating: "x", count: 5000),
    ])
    func `a value that could change a request is no cookie`(header: String) {
        #expect(Self.jar(header).header(path: Self.path, isSecure: true) == nil)
    }

    @Test
    func `there are 20 cookies at most`() {
        var jar = CookieJar()
        for number in 0..<100 { jar.set("c\(number)=1", path: Self.path) }
        #expect(jar.header(path: Self.path, isSecure: false)?.split(separator: ";").count == 20)
    }

    @Test
    func `of large ones the first stay, as many as leave room in a request`() {
        let large = String(repeating: "x", count: 900)
        let header = Self.jar("a=\(large)", "b=\(large)", "c=\(large)", "d=1").header(path: Self.path, isSecure: false)
        #expect(header == "a=\(large); b=\(large); d=1")
    }
}

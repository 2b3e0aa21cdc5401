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

    @Test
    func `a later cookie of the name replaces the former, and an age of nothing removes it`() {
        #expect(Self.jar("a=1", "a=2").header(path: Self.path, isSecure: false) == "a=2")
        #expect(Self.jar("a=1", "a=; Max-Age=0").header(path: Self.path, isSecure: false) == nil)
        #expect(Self.jar("a=1", "a=1; max-age=-5").header(path: Self.path, isSecure: false) == nil)
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

internal import Linkspan
internal import Testing

@Suite("Connection URLs")
struct ConnectionURLTests {
    @Test(arguments: [
        [
            "https://chat.example", "HTTPS://Chat.EXAMPLE/", "https://chat.example:443",
            "https://chat.example:443/#part",
        ],
        ["http://a/", "http://a:80", "http://A:"],
        ["ws://a:8080/x", "WS://a:8080/x#y"],
        ["https://a/%7Euser/%2F", "https://a/~user/%2f"],
        ["https://a/?q=%41%2b", "https://a?q=A%2B"],
        ["https://[2001:DB8::1]/", "https://[2001:db8::1]:443"],
    ])
    func `spellings of one endpoint are equal`(spellings: [String]) throws {
        let urls = try spellings.map { try ConnectionURL($0) }
        #expect(Set(urls).count == 1)
        #expect(Set(urls.map(\.text)).count == 1)
    }

    @Test(arguments: [
        ("https://a/", "http://a/"), ("https://a/", "https://b/"), ("https://a/", "https://a:444/"),
        ("https://a/x", "https://a/X"),
        ("https://a/x", "https://a/x/"), ("https://a/?x=1", "https://a/?x=2"),
        ("https://a/?a=1&b=2", "https://a/?b=2&a=1"),
        ("https://a/%2F", "https://a//"), ("https://a/", "https://a/?"),
    ])
    func `endpoints that differ are not equal`(one: String, other: String) throws {
        #expect(try ConnectionURL(one) != ConnectionURL(other))
    }

    @Test
    func `each part is read`() throws {
        let url = try ConnectionURL("wss://Chat.Example:8443/a%2fb?token=x%20y#z")
        #expect(url.scheme == "wss")
        #expect(url.host == "chat.example")
        #expect(url.port == 8443)
        #expect(url.path == "/a%2Fb")
        #expect(url.query == "token=x%20y")
        #expect(url.isSecure)
        #expect(url.text == "wss://chat.example:8443/a%2Fb?token=x%20y")
        #expect(try ConnectionURL("http://[::1]:3000").host == "::1")
        #expect(try ConnectionURL("http://[::1]:3000").text == "http://[::1]:3000/")
        #expect(try !ConnectionURL("ws://a").isSecure)
        #expect(try ConnectionURL("https://a").port == 443)
    }

    @Test
    func `a scheme without hosts and ports may leave them out`() throws {
        let url = try ConnectionURL("memory:///hub")
        #expect(url.host.isEmpty)
        #expect(url.port == 0)
        #expect(url.path == "/hub")
        #expect(url.text == "memory:///hub")
        #expect(try ConnectionURL("memory://hub").host == "hub")
    }

    @Test(arguments: [
        "https://chat.example", "ws://a:1/x%2f?y#z", "http://[::1]:3000/a", "memory:///hub", "https://a/%c3%a9?%7e",
    ])
    func `reading the canonical text gives the same again`(text: String) throws {
        let url = try ConnectionURL(text)
        #expect(try ConnectionURL(url.text) == url)
        #expect(try ConnectionURL(url.text).text == url.text)
    }

    @Test(arguments: [
        "", "chat.example", "https:/a", "://a", "1a://b", "h_t://a", "https://", "https:///x", "https://:443",
        "https://a:0",
        "https://a:65536", "https://a:-1", "https://a:+1", "https://a:x", "https://a:1:2", "https://user:secret@a/",
        "https://user@a",
        "https://a b", "https://a/\r\nHost: x", "https://a/\0", "https://a/é", "https://é/", "https://a/%",
        "https://a/%4", "https://a/%zz",
        "https://a/?%x", "https://[::1", "https://[::1]x", "https://[]", "https://[1]", "https://[g::1]",
        "https://a/\u{7F}", " https://a",
        "https://a\\b", "https://a,b", "https://a%2eb",
    ])
    func `an invalid URL, or one with credentials or control characters, is refused`(text: String) {
        let error = #expect(throws: LinkspanError.self) { try ConnectionURL(text) }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains("secret") == false)
    }

    @Test
    func `a description has no query`() throws {
        let url = try ConnectionURL("https://a/x?token=hunter2")
        #expect(url.description == "https://a/x")
        #expect(!"\(url)".contains("hunter2"))
    }
}

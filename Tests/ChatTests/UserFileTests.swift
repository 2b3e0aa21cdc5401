@testable internal import chat
internal import Testing

extension Chat {
    @Suite
    struct UserFileTests {
        @Test
        func `the file is looked for where the system keeps such files`() {
            let first = { (environment: [String: String]) in UserFile(environment: environment).candidates.first }
            #expect(first(["HOME": "/home/ann"]) == "/home/ann/.config/linkspan-chat/chat.yaml")
            #expect(first(["HOME": "/home/ann", "XDG_CONFIG_HOME": "/c"]) == "/c/linkspan-chat/chat.yaml")
            // Relative paths do not count, says the specification.
            let relative = ["HOME": "/home/ann", "XDG_CONFIG_HOME": "c"]
            #expect(first(relative) == "/home/ann/.config/linkspan-chat/chat.yaml")
            let system = UserFile(environment: ["XDG_CONFIG_DIRS": "/a:b:/c"]).candidates
            #expect(
                system.filter { $0.hasSuffix("/chat.yaml") } == [
                    "/a/linkspan-chat/chat.yaml", "/c/linkspan-chat/chat.yaml",
                ])
        }

        @Test(.timeLimit(.minutes(2)))
        func `a file in its place is read without a flag, and --config names another one`() async throws {
            try await Bench.run { bench in
                let text = "linkspan: { transport: { adapter: memory, memory: { url: \"memory://mine\" } } }\n"
                _ = try await bench.start("mkdir", ["/bin/mkdir", "-p", "\(bench.folder)/linkspan-chat"]).exit()
                let path = try bench.file("linkspan-chat/chat.yaml", text)
                let environment = ["XDG_CONFIG_HOME": bench.folder]
                let shown = try await bench.runChat(["config", "path"], environment: environment)
                #expect(shown.output == [path] && shown.status == 0)
                let own = try await bench.runChat(["config", "check"], environment: environment)
                #expect(own.output.first?.hasPrefix("valid: memory to memory://mine/") == true)
                let other = try bench.file("other.yaml", text.replacing("mine", with: "yours"))
                let named = try await bench.runChat(["config", "check", "--config", other], environment: environment)
                #expect(named.output.first?.hasPrefix("valid: memory to memory://yours/") == true)
                let none = try await bench.runChat(["config", "path"])
                #expect(none.status == 1 && none.output == [])
                #expect(none.errors.first?.contains("/nowhere/linkspan-chat/chat.yaml") == true)
            }
        }
    }
}

import LinkspanKit

let hub = InMemoryHub()
hub.onConnect { peer in
    peer.join("lobby")
    peer.on("say") { message in
        hub.emit("line", message.payload, to: "lobby")
        message.reply(.empty)
    }
}

let connection = try ConnectionBuilder("memory://tutorial")
    .transport(.inMemory(hub)).connect()

try connection.on("line", as: String.self) { line in
    if case .success(let text) = line { print(text) }
}

try await connection.deliver("say", "hello")

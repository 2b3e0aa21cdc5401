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

import LinkspanKit

let hub = InMemoryHub()
hub.onConnect { peer in
    peer.join("lobby")
}

import LinkspanDevServer
import LinkspanKit

let hub = InMemoryHub()  // the server's side; for once it is in the same process
hub.onConnect { peer in peer.on("hello") { $0.reply($0.payload) } }
let server = DevServer(hub: hub, configuration: .init { $0.port = 3010 })
try await server.start()

var catalog = Catalog.standard  // the transports and services that the file may name
catalog.add(.inMemory(hub))
catalog.add(ServiceFactory("counter") { _ in MessageCounter() })
let app = try ConfigurationLoader(catalog: catalog).load(file: "app.yaml")
let messaging = try await Messaging.start(app.plan)
let connection = try await messaging.connect()
let reply = try await connection.request("hello", "world").decode(String.self)
print(reply, "over", app.adapter)
await messaging.stop()
await server.stop()

internal import Foundation
internal import LinkspanKit
internal import LinkspanServices

// The examples for apps in LinkspanServices, word for word. They are compiled, not run: there is no device.

final class PushRegistration: PushObserving {
    let name: ServiceName = "pushRegistration"
    private let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    func on(_ event: Stamped<PushEvent>, _ scope: ServiceScope) async throws {
        guard case .registered(let token) = event.event else { return }
        // Waits for the connection, behind the call; an event has a second.
        try await self.connection.enqueue("deviceToken", token.hexadecimal)
    }
}

private func forwarding(_ catalog: inout Catalog, token: Data) {
    let forwarder = AppForwarder()
    catalog.add(.appEvents(forwarder))

    // In application(_:didRegisterForRemoteNotificationsWithDeviceToken:)
    forwarder.registered(deviceToken: token)
}

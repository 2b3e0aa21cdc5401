#if canImport(SwiftUI)
public import SwiftUI

/// Forwards the phase of a scene and the links that it is opened with.
struct AppEventForwarding: ViewModifier {
    @Environment(\.scenePhase) private var phase
    let forwarder: AppForwarder

    func body(content: Content) -> some View {
        content
            .onChange(of: self.phase, initial: true) { _, phase in
                if let phase = AppPhase(phase) { self.forwarder.moved(to: phase) }
            }
            .onOpenURL { self.forwarder.open($0) }
    }
}

extension View {
    /// Forwards the phase of the scene, as `scenePhase` tells it, and the links that it is opened with.
    ///
    /// For the outermost view of an app with one scene. An app with several leaves the phases to the service `app`, which
    /// follows the application.
    ///
    /// - Parameter forwarder: the forwarder in the plan of services.
    /// - Returns: the view.
    public func forwardsAppEvents(to forwarder: AppForwarder) -> some View {
        self.modifier(AppEventForwarding(forwarder: forwarder))
    }
}

extension AppPhase {
    init?(_ phase: ScenePhase) {
        switch phase {
        case .active: self = .active
        case .inactive: self = .inactive
        case .background: self = .background
        @unknown default: return nil
        }
    }
}
#endif

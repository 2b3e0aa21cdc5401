import LinkspanServices
import SwiftUI

/// The chat as an app for iPhone, iPad and Mac: the features, the model and the protocol of the chat in the terminal.
@main
struct ChatApp: App {
    @State private var host = ChatHost()

    var body: some Scene {
        WindowGroup {
            RootView(host: self.host)
                .forwardsAppEvents(to: self.host.forwarder)
        }
    }
}

/// The view of the host's phase.
struct RootView: View {
    let host: ChatHost

    var body: some View {
        switch self.host.phase {
        case .idle: WelcomeView(host: self.host)
        case .starting: ProgressView()
        case .running(let model): ChatView(model: model, host: self.host)
        }
    }
}

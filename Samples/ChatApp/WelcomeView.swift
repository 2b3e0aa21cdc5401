import SwiftUI

/// Asks who comes, where to, and over what.
struct WelcomeView: View {
    @Bindable var host: ChatHost

    var body: some View {
        NavigationStack {
            Form {
                Section("You") {
                    TextField("Name", text: self.$host.entry.name)
                    TextField("Room", text: self.$host.entry.room)
                }
                Section("Server") {
                    Picker("Transport", selection: self.$host.entry.transport) {
                        Text("Socket.IO").tag("socketio")
                        Text("WebSocket").tag("websocket")
                        Text("In this app").tag("memory")
                    }
                    if self.host.entry.transport != "memory" {
                        TextField("URL", text: self.$host.entry.url).autocorrectionDisabled()
                    }
                    Toggle("Keep lines that wait when the app ends", isOn: self.$host.entry.keepsLines)
                }
                if let problem = self.host.problem {
                    Text(problem).foregroundStyle(.red)
                }
                Button("Enter") { Task { await self.host.visit() } }.disabled(!self.host.isComplete)
            }
            .navigationTitle("Chat")
        }
    }
}

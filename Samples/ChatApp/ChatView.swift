import SwiftUI

/// A visit: the rooms, and the one where lines are said.
struct ChatView: View {
    let model: ChatModel
    let host: ChatHost
    @State private var report: Report?
    @State private var isReporting = false
    @State private var isNaming = false

    var body: some View {
        NavigationSplitView {
            RoomList(model: self.model)
        } detail: {
            RoomView(model: self.model)
                .navigationTitle(self.model.room ?? "No room")
                .toolbar {
                    ToolbarItem(placement: .principal) { StatusView(model: self.model) }
                    ToolbarItem(placement: .primaryAction) { self.menu }
                }
        }
        .sheet(isPresented: self.$isNaming) { NameView(model: self.model) }
        .sheet(isPresented: self.$isReporting) { ReportView(report: self.report) }
    }

    private var menu: some View {
        Menu("More", systemImage: "ellipsis.circle") {
            Button("Change name", systemImage: "person") { self.isNaming = true }
            Menu("Transport", systemImage: "network") {
                ForEach(["socketio", "websocket", "memory"], id: \.self) { name in
                    Button(name) { self.perform { await self.model.use(transport: name) } }
                }
            }
            Button("Disconnect", systemImage: "wifi.slash") { self.perform { await self.model.setOnline(false) } }
            Button("Connect", systemImage: "wifi") { self.perform { await self.model.setOnline(true) } }
            Button("Explain the connection", systemImage: "info.circle") {
                self.perform { self.show("Connection", await self.model.explain()) }
            }
            Button("Show the outbox", systemImage: "archivebox") {
                self.perform { self.show("Outbox", await self.model.outbox()) }
            }
            Button("Leave the chat", systemImage: "door.left.hand.open") { self.host.leave() }
        }
    }

    private func show(_ title: String, _ text: String) {
        self.report = Report(title: title, text: text)
        self.isReporting = true
    }

    private func perform(_ body: @escaping @MainActor () async -> Void) {
        Task { await body() }
    }
}

/// The rooms that one is in, with the number of unread lines, and a field for another.
struct RoomList: View {
    let model: ChatModel
    @State private var name = ""
    @State private var selection: String?

    var body: some View {
        List(selection: self.$selection) {
            ForEach(self.model.rooms, id: \.self) { room in
                Label(room, systemImage: "number").badge(self.model.unread[room] ?? 0).tag(room)
            }
            TextField("Join a room", text: self.$name).onSubmit { self.join(self.name) }
        }
        .navigationTitle("Rooms")
        .onChange(of: self.model.room, initial: true) { _, room in self.selection = room }
        .onChange(of: self.selection) { _, room in
            if let room, room != self.model.room { self.join(room) }
        }
    }

    private func join(_ room: String) {
        self.name = ""
        Task { await self.model.go(to: room) }
    }
}

/// Where the connection stands, in one line.
struct StatusView: View {
    let model: ChatModel

    var body: some View {
        VStack {
            Text(self.text).font(.caption).foregroundStyle(self.isUp ? .green : .orange)
            if self.model.waiting > 0 {
                Text("\(self.model.waiting) not confirmed").font(.caption2).foregroundStyle(.secondary)
            }
        }
        .accessibilityElement(children: .combine)
    }

    private var isUp: Bool { if case .connected = self.model.status { true } else { false } }

    private var text: String {
        switch self.model.status {
        case .connecting: "connecting"
        case .connected(let transport):
            self.model.roundTrip.map { "\(transport), \($0.milliseconds) ms" } ?? transport
        case .reconnecting: "reconnecting"
        case .offline: "offline"
        case .failed(let reason): reason
        }
    }
}

/// A text that was asked for.
struct Report: Hashable, Sendable {
    var title: String
    var text: String
}

/// Shows a text that was asked for.
struct ReportView: View {
    let report: Report?

    var body: some View {
        ScrollView {
            VStack(alignment: .leading, spacing: 12) {
                Text(self.report?.title ?? "").font(.headline)
                Text(self.report?.text ?? "").font(Font.body.monospaced()).textSelection(.enabled)
            }
            .padding(16)
        }
    }
}

/// Asks for another name.
struct NameView: View {
    let model: ChatModel
    @State private var name = ""
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        Form {
            TextField("Name", text: self.$name)
            Button("Take this name") {
                let name = self.name
                Task { await self.model.rename(to: name) }
                self.dismiss()
            }
        }
    }
}

extension Duration {
    /// Whole milliseconds, for people.
    fileprivate var milliseconds: Int64 {
        self.components.seconds * 1_000 + self.components.attoseconds / 1_000_000_000_000_000
    }
}

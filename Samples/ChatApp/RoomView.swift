import SwiftUI

/// A room: its lines, who is there, who is typing, and a field to say something.
struct RoomView: View {
    let model: ChatModel
    @State private var draft = ""
    @FocusState private var isFocused: Bool

    var body: some View {
        VStack(spacing: 0) {
            self.lines
            Divider()
            self.footer
        }
        .task(id: self.model.room) { await self.model.refreshMembers() }
    }

    private var lines: some View {
        ScrollViewReader { proxy in
            ScrollView {
                LazyVStack(alignment: .leading, spacing: 6) {
                    ForEach(self.entries) { EntryView(entry: $0).id($0.id) }
                }
                .padding(12)
            }
            .defaultScrollAnchor(.bottom)
            .onChange(of: self.entries.last?.id) { _, last in
                if let last { proxy.scrollTo(last, anchor: .bottom) }
            }
        }
    }

    private var footer: some View {
        VStack(alignment: .leading, spacing: 4) {
            Text(self.people).font(.caption).foregroundStyle(.secondary).lineLimit(1)
            HStack {
                TextField("Say something", text: self.$draft)
                    .textFieldStyle(.roundedBorder)
                    .submitLabel(.send)
                    .focused(self.$isFocused)
                    .onSubmit { self.say() }
                    .onChange(of: self.draft) { _, draft in
                        if !draft.isEmpty { Task { await self.model.typed() } }
                    }
                Button("Send") { self.say() }.disabled(self.draft.isEmpty)
            }
        }
        .padding(12)
        .background(.bar)
    }

    private var entries: [ChatModel.Entry] { self.model.room.flatMap { self.model.entries[$0] } ?? [] }

    private var people: String {
        let typing = self.model.typing
        guard typing.isEmpty else { return "\(typing.joined(separator: ", ")) typing …" }
        return self.model.room.flatMap { self.model.members[$0] }.map { $0.joined(separator: ", ") } ?? ""
    }

    private func say() {
        let text = self.draft
        self.draft = ""
        self.isFocused = true
        Task { await self.model.say(text) }
    }
}

/// One entry of a room.
struct EntryView: View {
    let entry: ChatModel.Entry

    var body: some View {
        switch self.entry {
        case .notice(_, let sentence):
            Text(sentence).font(.footnote).foregroundStyle(.secondary)
        case .line(let line):
            VStack(alignment: .leading, spacing: 2) {
                HStack(alignment: .firstTextBaseline) {
                    Text(line.from).font(.headline)
                    Text(self.mark(line.state)).font(.caption).foregroundStyle(.secondary)
                }
                Text(line.text).textSelection(.enabled).opacity(line.state == .pending ? 0.6 : 1)
                if case .rejected(let why) = line.state {
                    Text("not delivered: \(why)").font(.caption).foregroundStyle(.red)
                }
            }
            .accessibilityElement(children: .combine)
        }
    }

    private func mark(_ state: ChatFloorLine.State) -> String {
        switch state {
        case .pending: "…"
        case .confirmed: "✓"
        case .rejected: "✗"
        }
    }
}

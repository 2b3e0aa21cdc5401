internal import Linkspan
internal import LinkspanRuntime

// MARK: - Links join

extension SocketIOEngine {
    /// The result for a link that joins.
    enum Joining {
        case taken
        /// It can join nowhere: it has ended.
        case unacceptable(LinkspanError)
        /// It needs another engine.
        case unavailable
    }

    /// Takes a link, or says that it cannot be had on this engine.
    func join(_ link: SocketIOLink) -> Bool {
        // While nothing is read, the answer to CONNECT would not be, either.
        guard !self.isClosed, self.pausing.isEmpty else { return false }
        var output = SocketIOOutput()
        if self.owned == nil {
            guard !self.waiting.contains(where: { $0.joinedNamespace == link.joinedNamespace }) else { return false }
            self.waiting.append(link)
        } else {
            switch self.letJoin(link, output: &output) {
            case .taken: ()
            case .unacceptable(let error): link.deliver(.closed(error))
            case .unavailable: return false
            }
        }
        // Changes nothing for a link that has just ended.
        link.isJoined(to: self)
        self.carryOut(&output)
        return true
    }

    /// Joins a link to the session.
    func letJoin(_ link: SocketIOLink, output: inout SocketIOOutput) -> Joining {
        do throws(LinkspanError) {
            let request = link.request.value
            let index = try self.owned?.session.join(
                link.joinedNamespace, auth: request.credentials.auth,
                recovery: request.resumption.flatMap(SocketIORecovery.init), timeout: request.deadline, now: self.now,
                output: &output)
            guard let index else { return .unavailable }
            self.links.append(contentsOf: repeatElement(nil, count: max(0, index + 1 - self.links.count)))
            self.links[index] = link
            link.index = index
            link.acks = AckNumbers(first: self.owned?.look { $0.firstAck(of: index) } ?? 0)
            self.noteSend(of: link)
            return .taken
        } catch {
            return error.code == .wrongState ? .unavailable : .unacceptable(error)
        }
    }
}

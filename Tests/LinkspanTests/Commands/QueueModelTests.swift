@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Lists of commands against a plain model")
struct QueueModelTests {

    private func command() -> Command { Command(.request, event: "a", payload: .empty) }

    @Test(arguments: 0..<40)
    func `lists hold what an array holds, whatever is inserted, replaced and removed`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var lists = CommandLists()
        var (list, model) = (CommandLists.List(), [Command.ID]())
        for _ in 0..<600 {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let index = Int.random(in: 0...model.count, using: &generator)
                let previous = index == 0 ? CommandLists.none : try #require(lists.find(model[index - 1]))
                let command = self.command()
                _ = lists.insert(command, behind: previous, in: &list)
                model.insert(command.id, at: index)
            case 2 where !model.isEmpty:
                let index = Int.random(in: 0..<model.count, using: &generator)
                let command = self.command()
                lists.replace(try #require(lists.find(model[index])), by: command)
                model[index] = command.id
            case 3 where !model.isEmpty, 4 where !model.isEmpty && seed.isMultiple(of: 2):
                let id = model.remove(at: Int.random(in: 0..<model.count, using: &generator))
                #expect(lists.remove(try #require(lists.find(id)), from: &list)?.id == id)
                #expect(lists.find(id) == nil)
            default: ()
            }
            #expect(lists.count == model.count)
        }
        #expect(lists.all(list).map(\.id) == model)
        #expect(model.allSatisfy { lists.find($0).flatMap { lists.id(at: $0) } == $0 })
    }

    @Test(arguments: 0..<20)
    func `commands under way are found by number and by identity`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var awaited = AwaitedCommands()
        var model: [UInt64: Command.ID] = [:]
        for number in 0..<800 as Range<UInt64> {
            let command = self.command()
            awaited.insert(command, number: number)
            model[number] = command.id
            #expect(awaited.number(of: command.id) == number)
            if Int.random(in: 0..<3, using: &generator) > 0, let victim = model.keys.randomElement(using: &generator) {
                let id = model.removeValue(forKey: victim)
                #expect(awaited.remove(victim)?.id == id)
                #expect(awaited[victim] == nil)
                #expect(id.map { awaited.contains($0) } == false)
            }
            #expect(awaited.count == model.count)
        }
        for (number, id) in model {
            #expect(awaited[number]?.id == id)
            #expect(awaited.number(of: id) == number)
        }
        #expect(awaited.requests.count == model.count)
    }

    @Test(arguments: 0..<20)
    func `a delivery that an earlier process left goes before new ones and behind its like`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var queues = DeliveryQueues()
        var (restored, new) = ([Command.ID](), [Command.ID]())
        for number in 0..<200 {
            switch Int.random(in: 0..<3, using: &generator) {
            case 0:
                let row = StoredDelivery(key: "\(number)", orderingKey: "room", event: "a", payload: .empty)
                let command = Command(restored: row)
                queues.restore(command, orderingKey: "room")
                restored.append(command.id)
            case 1:
                let command = Command(.deliver(orderingKey: "room"), event: "a", payload: .empty)
                try queues.append(command, orderingKey: "room", within: BufferLimits())
                new.append(command.id)
            default:
                guard let id = (restored + new).randomElement(using: &generator) else { continue }
                #expect(queues.remove(id) != nil)
                restored.removeAll { $0 == id }
                new.removeAll { $0 == id }
            }
        }
        #expect(queues.restoredCount == restored.count)
        var order: [Command.ID] = []
        while let begun = queues.beginNext() {
            order.append(begun.command.id)
            _ = queues.remove(begun.command.id)
        }
        #expect(order == restored + new)
        #expect(queues.count == 0 && queues.byteCount == 0)
        #expect(queues.restoredCount == 0 && queues.restoredByteCount == 0)
    }

    @Test
    func `of the commands that wait for a delivery one may leave, and the others stay`() {
        var ledger = DeliveryLedger(isStored: false)
        let followers = (0..<3).map { _ in self.command() }
        for command in followers { ledger.follow(command, key: "key") }
        #expect(ledger.removeFollower(followers[1].id)?.id == followers[1].id)
        #expect(ledger.removeFollower(followers[1].id) == nil)
        #expect(ledger.followers(of: "key").map(\.id) == [followers[0].id, followers[2].id])
        #expect(ledger.followerCount == 2)
    }

    @Test
    func `each delivery stays with the account that it was made for`() {
        var ledger = DeliveryLedger(isStored: true)
        for account in ["a", "b"] {
            ledger.account = account
            ledger.add(self.command().id, key: "key of \(account)")
        }
        #expect(ledger.account(of: "key of a") == "a")
        #expect(ledger.account(of: "key of b") == "b")
    }

    @Test
    func `of the rows that are loaded those wait that have not ended, in the store or since it was asked`() {
        var ledger = DeliveryLedger(isStored: true)
        let ended = self.command()
        ledger.add(ended.id, key: "ended meanwhile")
        ledger.backlog = .loading(after: 0, isAsked: true)
        _ = ledger.remove(ended.id, key: "ended meanwhile")
        var rows = ["ended before", "ended meanwhile", "waits"].map {
            StoredDelivery(key: $0, orderingKey: "room", event: "a", payload: .empty)
        }
        rows[0].outcome = .success(.empty)
        #expect(ledger.waiting(of: rows).map(\.key) == ["waits"])
        #expect(ledger.waiting(of: rows).map(\.key) == ["ended meanwhile", "waits"])
    }

    @Test
    func `each opening of an account has a number of its own, and is closed once`() {
        var ledger = DeliveryLedger(isStored: true)
        let first = ledger.beginSession()
        let wasOpen = ledger.endSession()
        let second = ledger.beginSession()
        ledger.backlog = .complete
        let ends = (0..<2).map { _ in ledger.endSession() }
        #expect(!wasOpen)
        #expect(second != first)
        #expect(ends == [true, false])
    }
}

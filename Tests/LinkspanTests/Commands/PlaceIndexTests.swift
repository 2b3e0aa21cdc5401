@testable import Linkspan
internal import Testing

@Suite("The index of places")
struct PlaceIndexTests {
    @Test(arguments: [1, 2, 64, 987, 1_597, 2_584, 1 << 20] as [UInt64])
    func `numbers in steps of any width are found after a few looks`(width: UInt64) {
        let places = 0..<PlaceIndex.Place(3_000)
        func hash(_ place: PlaceIndex.Place) -> UInt64 { PlaceIndex.hash(UInt64(place) * width) }
        var index = PlaceIndex()
        for place in places { index.insert(place, hash(place), hashOf: hash) }
        var found = 0
        let steps = countSteps {
            for place in places where index.find(hash(place), where: { $0 == place }) == place { found += 1 }
        }
        #expect(found == places.count)
        #expect(steps <= 4 * places.count, "\(steps) steps")
    }
}

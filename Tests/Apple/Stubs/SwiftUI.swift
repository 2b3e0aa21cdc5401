// swift-format-ignore-file
// SwiftUI, as of iOS 17 and macOS 14: the views and modifiers that the samples use.
@_exported import Foundation
import Observation

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}
extension Never: View {
    public typealias Body = Never
    public var body: Never { fatalError() }
}
extension Optional: View where Wrapped: View {
    public typealias Body = Never
    public var body: Never { fatalError() }
}
public protocol Primitive: View where Body == Never {}
extension Primitive {
    public var body: Never { fatalError() }
}
public struct EmptyView: Primitive {
    public init() {}
}
public struct TupleView<each Content>: Primitive {
    init(_ content: repeat each Content) {}
}
public struct ConditionalContent<First, Second>: Primitive {}
@resultBuilder public enum ViewBuilder {
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    @_disfavoredOverload
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<repeat each Content> { fatalError() }
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<First: View, Second: View>(first: First) -> ConditionalContent<First, Second> { fatalError() }
    public static func buildEither<First: View, Second: View>(second: Second) -> ConditionalContent<First, Second> { fatalError() }
    public static func buildLimitedAvailability<Content: View>(_ content: Content) -> Content { content }
}
@MainActor @preconcurrency public protocol ViewModifier {
    associatedtype Body: View
    typealias Content = ModifierContent<Self>
    @ViewBuilder @MainActor @preconcurrency func body(content: Content) -> Body
}
public struct ModifierContent<Modifier>: Primitive {}

// State
@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    public subscript<Subject>(dynamicMember path: WritableKeyPath<Value, Subject>) -> Binding<Subject> { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { self }
    public init(get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void) {}
    public static func constant(_ value: Value) -> Binding<Value> { fatalError() }
}
extension Binding: Sendable where Value: Sendable {}
@propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) {}
    public init(initialValue: Value) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { fatalError() }
}
@propertyWrapper @dynamicMemberLookup public struct Bindable<Value> {
    public var wrappedValue: Value
    public var projectedValue: Bindable<Value> { self }
    public init(wrappedValue: Value) where Value: AnyObject, Value: Observable { self.wrappedValue = wrappedValue }
    public init(_ value: Value) where Value: AnyObject, Value: Observable { self.wrappedValue = value }
    public subscript<Subject>(dynamicMember path: ReferenceWritableKeyPath<Value, Subject>) -> Binding<Subject> { fatalError() }
}
@propertyWrapper public struct FocusState<Value: Hashable> {
    public init() where Value == Bool {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding {
        fatalError()
    }
    public struct Binding {}
}
@propertyWrapper public struct Environment<Value> {
    public init(_ path: KeyPath<EnvironmentValues, Value>) {}
    public init(_ type: Value.Type) where Value: AnyObject, Value: Observable {}
    public var wrappedValue: Value { fatalError() }
}
public struct EnvironmentValues {
    public var scenePhase: ScenePhase { fatalError() }
    public var dismiss: DismissAction { fatalError() }
}
@MainActor public struct DismissAction { public func callAsFunction() {} }
public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

// Apps and scenes
@MainActor @preconcurrency public protocol Scene {
    associatedtype Body: Scene
    @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}
extension Never: Scene {}
@resultBuilder public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}
public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}
    public typealias Body = Never
    public var body: Never { fatalError() }
}
@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @SceneBuilder @MainActor @preconcurrency var body: Body { get }
    @MainActor @preconcurrency init()
}
extension App {
    @MainActor public static func main() {}
}

// Values
public struct LocalizedStringKey: ExpressibleByStringInterpolation { public init(stringLiteral value: String) {} }
public struct Color: Primitive, ShapeStyle, Hashable, Sendable {
    public static let red = Color(), green = Color(), orange = Color(), gray = Color(), secondary = Color(), accentColor = Color(), clear = Color()
    public func opacity(_ value: Double) -> Color { self }
}
public protocol ShapeStyle {}
public struct HierarchicalShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
    public static var tertiary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}
extension ShapeStyle where Self == Color {
    public static var red: Color { Color() }
    public static var green: Color { Color() }
    public static var orange: Color { Color() }
}
public struct Material: ShapeStyle {}
extension ShapeStyle where Self == Material {
    public static var bar: Material { Material() }
    public static var thinMaterial: Material { Material() }
}
public struct Font: Sendable, Hashable {
    public enum Weight: Sendable { case bold, semibold, regular }
    public static let body = Font(), caption = Font(), caption2 = Font(), footnote = Font(), headline = Font(), subheadline = Font(), title = Font()
    public func monospaced() -> Font { self }
    public func monospacedDigit() -> Font { self }
}
public enum HorizontalAlignment: Sendable { case leading, center, trailing }
public enum VerticalAlignment: Sendable { case top, center, bottom, firstTextBaseline }
public struct Alignment: Sendable { public static let leading = Alignment(), trailing = Alignment(), center = Alignment() }
public struct UnitPoint: Sendable { public static let top = UnitPoint(), bottom = UnitPoint() }
public struct Edge {
    public struct Set: OptionSet, Sendable {
        public let rawValue: Int8
        public init(rawValue: Int8) { self.rawValue = rawValue }
        public static let horizontal = Set(rawValue: 1), vertical = Set(rawValue: 2), all = Set(rawValue: 3), top = Set(rawValue: 4)
    }
}
public enum Visibility: Sendable { case automatic, visible, hidden }
public struct ToolbarItemPlacement: Sendable { public static let automatic = Self(), primaryAction = Self(), cancellationAction = Self(), confirmationAction = Self(), principal = Self() }
public struct SubmitLabel: Sendable { public static let send = Self(), done = Self() }

// Views
public struct Text: Primitive {
    public init(_ key: LocalizedStringKey) {}
    @_disfavoredOverload public init(_ text: some StringProtocol) {}
    public init(verbatim: String) {}
    public func bold() -> Text { self }
    public func italic() -> Text { self }
    public static func + (left: Text, right: Text) -> Text { left }
}
public struct Image: Primitive { public init(systemName: String) {} }
public struct Label<Title, Icon>: Primitive where Title: View, Icon: View {
    public init(_ title: LocalizedStringKey, systemImage: String) where Title == Text, Icon == Image {}
    @_disfavoredOverload public init(_ title: some StringProtocol, systemImage: String) where Title == Text, Icon == Image {}
}
public struct VStack<Content: View>: Primitive {
    public init(alignment: HorizontalAlignment = .center, spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
}
public struct LazyVStack<Content: View>: Primitive {
    public init(alignment: HorizontalAlignment = .center, spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
}
public struct HStack<Content: View>: Primitive {
    public init(alignment: VerticalAlignment = .center, spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
}
public struct Spacer: Primitive { public init() {} }
public struct Divider: Primitive { public init() {} }
public struct ProgressView: Primitive { public init() {} }
public struct Circle: Primitive {
    public init() {}
    public func fill(_ style: some ShapeStyle) -> some View { self }
}
public struct Form<Content: View>: Primitive { public init(@ViewBuilder content: () -> Content) {} }
public struct Section<Parent, Content, Footer>: Primitive {
    public init(_ title: LocalizedStringKey, @ViewBuilder content: () -> Content) where Parent == Text, Content: View, Footer == EmptyView {}
}
public struct List<Selection, Content: View>: Primitive {
    public init(@ViewBuilder content: () -> Content) where Selection == Never {}
    public init(selection: Binding<Selection?>, @ViewBuilder content: () -> Content) where Selection: Hashable {}
}
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content>: Primitive {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) where Data.Element: Identifiable, ID == Data.Element.ID, Content: View {}
    public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content) where Content: View {}
}
public struct ScrollView<Content: View>: Primitive { public init(@ViewBuilder content: () -> Content) {} }
public struct ScrollViewProxy { public func scrollTo<ID: Hashable>(_ id: ID, anchor: UnitPoint? = nil) {} }
public struct ScrollViewReader<Content: View>: Primitive { public init(@ViewBuilder content: @escaping (ScrollViewProxy) -> Content) {} }
public struct NavigationStack<Content: View>: Primitive { public init(@ViewBuilder root: () -> Content) {} }
public struct NavigationSplitView<Sidebar: View, Detail: View>: Primitive {
    public init(@ViewBuilder sidebar: () -> Sidebar, @ViewBuilder detail: () -> Detail) {}
}
public struct Button<Label: View>: Primitive {
    public init(_ title: LocalizedStringKey, action: @escaping @MainActor () -> Void) where Label == Text {}
    @_disfavoredOverload public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) where Label == Text {}
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {}
    public init(_ title: LocalizedStringKey, systemImage: String, action: @escaping @MainActor () -> Void) where Label == SwiftUI.Label<Text, Image> {}
}
public struct TextField<Label: View>: Primitive {
    public init(_ title: LocalizedStringKey, text: Binding<String>) where Label == Text {}
}
public struct Picker<Label: View, Selection: Hashable, Content: View>: Primitive {
    public init(_ title: LocalizedStringKey, selection: Binding<Selection>, @ViewBuilder content: () -> Content) where Label == Text {}
}
public struct Toggle<Label: View>: Primitive {
    public init(_ title: LocalizedStringKey, isOn: Binding<Bool>) where Label == Text {}
}
public struct LabeledContent<Label: View, Content: View>: Primitive {
    @_disfavoredOverload public init(_ title: LocalizedStringKey, value: some StringProtocol) where Label == Text, Content == Text {}
}
public struct Menu<Label: View, Content: View>: Primitive {
    public init(_ title: LocalizedStringKey, systemImage: String, @ViewBuilder content: () -> Content) where Label == SwiftUI.Label<Text, Image> {}
}
public struct ContentUnavailableView<Label: View>: Primitive {
    public init(_ title: LocalizedStringKey, systemImage: String, description: Text? = nil) where Label == Text {}
}
public protocol ToolbarContent {}
public struct ToolbarItem<Content: View>: ToolbarContent {
    public init(placement: ToolbarItemPlacement = .automatic, @ViewBuilder content: () -> Content) {}
}
@resultBuilder public enum ToolbarContentBuilder {
    public static func buildBlock<each Content: ToolbarContent>(_ content: repeat each Content) -> some ToolbarContent { Toolbar() }
}
struct Toolbar: ToolbarContent {}

// Modifiers
extension View {
    public func modifier<Modifier: ViewModifier>(_ modifier: Modifier) -> some View { self }
    public func onChange<Value: Equatable>(
        of value: Value, initial: Bool = false, _ action: @escaping @MainActor (_ old: Value, _ new: Value) -> Void
    ) -> some View { self }
    public func onChange<Value: Equatable>(of value: Value, initial: Bool = false, _ action: @escaping @MainActor () -> Void) -> some View { self }
    public func onOpenURL(perform action: @escaping @MainActor (URL) -> Void) -> some View { self }
    public func onAppear(perform action: (@MainActor () -> Void)? = nil) -> some View { self }
    public func onDisappear(perform action: (@MainActor () -> Void)? = nil) -> some View { self }
    public func onSubmit(_ action: @escaping @MainActor () -> Void) -> some View { self }
    public func task(_ action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
    public func task<ID: Equatable>(id: ID, _ action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
    public func environment<Object: AnyObject & Observable>(_ object: Object?) -> some View { self }
    public func padding(_ edges: Edge.Set = .all, _ length: Double? = nil) -> some View { self }
    public func padding(_ length: Double) -> some View { self }
    public func frame(width: Double? = nil, height: Double? = nil) -> some View { self }
    public func frame(minWidth: Double? = nil, maxWidth: Double? = nil, minHeight: Double? = nil, alignment: Alignment = .center) -> some View { self }
    public func font(_ font: Font?) -> some View { self }
    public func foregroundStyle(_ style: some ShapeStyle) -> some View { self }
    public func background(_ style: some ShapeStyle) -> some View { self }
    public func opacity(_ value: Double) -> some View { self }
    public func disabled(_ isDisabled: Bool) -> some View { self }
    public func lineLimit(_ lines: Int?) -> some View { self }
    public func textSelection(_ selectability: EnabledTextSelectability) -> some View { self }
    public func submitLabel(_ label: SubmitLabel) -> some View { self }
    public func focused(_ binding: FocusState<Bool>.Binding) -> some View { self }
    public func autocorrectionDisabled(_ isDisabled: Bool = true) -> some View { self }
    public func navigationTitle(_ title: some StringProtocol) -> some View { self }
    public func toolbar<Content: ToolbarContent>(@ToolbarContentBuilder content: () -> Content) -> some View { self }
    public func tag(_ value: some Hashable) -> some View { self }
    public func id(_ id: some Hashable) -> some View { self }
    public func badge(_ count: Int) -> some View { self }
    public func accessibilityLabel(_ label: LocalizedStringKey) -> some View { self }
    @_disfavoredOverload public func accessibilityLabel(_ label: some StringProtocol) -> some View { self }
    public func accessibilityElement(children: AccessibilityChildBehavior) -> some View { self }
    public func sheet<Content: View>(isPresented: Binding<Bool>, @ViewBuilder content: @escaping () -> Content) -> some View { self }
    public func alert(_ title: LocalizedStringKey, isPresented: Binding<Bool>) -> some View { self }
    public func safeAreaInset<Content: View>(edge: VerticalEdge, @ViewBuilder content: () -> Content) -> some View { self }
    public func pickerStyle(_ style: SegmentedPickerStyle) -> some View { self }
    public func textFieldStyle(_ style: RoundedBorderTextFieldStyle) -> some View { self }
    public func defaultScrollAnchor(_ anchor: UnitPoint?) -> some View { self }
}
public enum VerticalEdge: Sendable { case top, bottom }
public struct AccessibilityChildBehavior: Sendable { public static let combine = Self() }
public struct EnabledTextSelectability { }
public struct SegmentedPickerStyle {}
public struct RoundedBorderTextFieldStyle {}
extension EnabledTextSelectability { public static var enabled: Self { Self() } }
extension SegmentedPickerStyle { public static var segmented: Self { Self() } }
extension RoundedBorderTextFieldStyle { public static var roundedBorder: Self { Self() } }

#if OUTBOX
internal import GRDB

/// An error of an outbox.
///
/// A delivery that it refuses fails with code `notKept` and has this error as its cause.
public struct OutboxError: Error, Sendable, Hashable {
    /// The kind of failure.
    public var code: Code
    /// One sentence for a person or a log line; names the file, never contents.
    public var message: String

    /// The kind of an ``OutboxError``.
    ///
    /// A struct, so that new kinds are not a breaking change.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind, as it appears in logs.
        public var rawValue: String

        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension OutboxError.Code {
    /// Another process, or another outbox of this one, has the file open.
    public static let inUse = Self(rawValue: "inUse")
    /// A newer version of the SDK has written the file.
    public static let newerSchema = Self(rawValue: "newerSchema")
    /// The file is something else, and stays as it is.
    public static let notAnOutbox = Self(rawValue: "notAnOutbox")
    /// The limits of ``OutboxOptions`` leave no room for the delivery.
    public static let full = Self(rawValue: "full")
    /// The disk is full.
    public static let diskFull = Self(rawValue: "diskFull")
    /// The file or its file system is read-only.
    public static let readOnly = Self(rawValue: "readOnly")
    /// The file cannot be opened: its folder is missing, or a permission, or it is a link.
    public static let notAccessible = Self(rawValue: "notAccessible")
    /// The file is damaged.
    public static let corrupt = Self(rawValue: "corrupt")
    /// The file system failed in another way.
    public static let inputOutput = Self(rawValue: "inputOutput")
    /// A payload cannot be sealed or opened by the outbox's cipher.
    public static let cipherFailed = Self(rawValue: "cipherFailed")
    /// The outbox was closed.
    public static let closed = Self(rawValue: "closed")
}

extension OutboxError: CustomStringConvertible {
    /// The code and the message, in one line.
    public var description: String { "\(self.code.rawValue): \(self.message)" }
}

extension OutboxError {
    /// The meaning of a database error for the file at `path`.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as OutboxError: self = error
        case let error as DatabaseError: self.init(database: error, path: path)
        default: self.init(.inputOutput, "'\(path)': \(error)")
        }
    }

    private init(database error: DatabaseError, path: String) {
        let code: Code =
            switch error.resultCode {
            case .SQLITE_FULL: .diskFull
            // Without a reason of the system's: the header of a file that can be written says so.
            case .SQLITE_READONLY: error.extendedResultCode == .SQLITE_READONLY ? .corrupt : .readOnly
            case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH: .notAccessible
            // Statements never change, so that damaged tables are the reason of these.
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_SCHEMA, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH,
                .SQLITE_FORMAT, .SQLITE_INTERNAL, .SQLITE_TOOBIG:
                .corrupt
            case .SQLITE_BUSY, .SQLITE_LOCKED: .inUse
            default: .inputOutput
            }
        // Not the error's own description, which quotes the statement.
        let reason = error.message ?? "no reason given"
        self.init(code, "'\(path)': \(reason) (SQLite \(error.extendedResultCode.rawValue))")
    }
}
#endif

"""Puts many bugs into one build, each behind a switch that the environment turns on: mutant schemata.

`a < b` becomes `(isInvented(17) ? (a <= b) : (a < b))`, and a call `if !isInvented(17) { call() }`. Each stays on its line, so
that an error of the compiler tells which bug it is about.
"""
import re

CHOSEN, REACHED = "LINKSPAN_BUG", "LINKSPAN_REACHED"
NAME = "Invented.swift"
# Public, because the default arguments of public functions hold bugs, too.
SOURCE = f"""
#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The number of the bug of this run.
private let chosen = getenv("{CHOSEN}").flatMap {{ Int(String(cString: $0)) }}

/// A byte for each bug, in a file that all processes of a run share.
nonisolated(unsafe) private let reached: UnsafeMutablePointer<UInt8>? = {{
    guard let path = getenv("{REACHED}") else {{ return nil }}
    let file = open(path, O_RDWR)
    let size = Int(lseek(file, 0, SEEK_END))
    defer {{ close(file) }}
    guard file >= 0, size > 0 else {{ return nil }}
    return mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)?.assumingMemoryBound(to: UInt8.self)
}}()

public func isInvented(_ number: Int) -> Bool {{
    reached?[number] = 1
    return number == chosen
}}
""".lstrip()

GROUP = re.compile(r"[(\[{][^()\[\]{}]*[)\]}]")
# What stands before a value, and what after it.
BEFORE = re.compile(
    r"[(\[{,;]|&& |\|\| | \? | : | [-+*/|&]{0,2}= |\b\w+: |\": "
    r"|\b(?:return|throw|if|guard|while|switch|in|where|await|case|else) |\btry[?!]? ")
AFTER = re.compile(r"[)\]},;]| && | \|\| | \? | : | \{$| \{ | else\b| where |:$")
JUMP = re.compile(r"\b(continue|break)\b")
STATEMENT = re.compile(r"(return|throw)\b|(?:_ = )?(?:try[?!]? )?(?:await )?[\w.?!\[\]]+(\(| [-+*/|&]?= )")


def outside_texts(line: str) -> str:
    """The line with its texts, patterns and its comment blanked out, so that nothing in them is changed."""
    blank = lambda match: '"' + " " * (len(match[0]) - 2) + '"'
    return re.sub(r"//.*", lambda match: " " * len(match[0]), re.sub(r'"(?:\\.|[^"\\])*"|#/.*?/#', blank, line))


def flat(code: str) -> str:
    """The code with its closed groups blanked out: the brackets that are left have no partner."""
    while (blanked := GROUP.sub(lambda match: "_" * len(match[0]), code)) != code:
        code = blanked
    return code


def segment(line: str, start: int, end: int) -> tuple[int, int]:
    """The innermost value around a part of the line."""
    code = outside_texts(line)
    if line[start:end] in ("&&", "||"):
        # Both bind values together, each with a precedence of its own.
        code = code.replace(" && ", " ++ ").replace(" || ", " ++ ")
    left = max([len(code) - len(code.lstrip())] + [match.end() for match in BEFORE.finditer(flat(code[:start]))])
    found = AFTER.search(flat(code[end:].rstrip()))
    right = end + found.start() if found else len(code.rstrip())
    # The body of a statement on one line is no closure of its condition.
    if re.match(r"\s*(\} else )?(if|while|for)\b", code) and code.rstrip().endswith("}"):
        body = flat(code.rstrip()[:-1]).rfind("{")
        right = min(right, body) if end <= body else right
    value = code[left:right]
    return right - len(value.lstrip()), left + len(value.rstrip())


def is_balanced(code: str) -> bool:
    return not re.search(r"[()\[\]{}]", flat(outside_texts(code)))


def switched(number: int, old: list[str], new: list[str]) -> list[list[str]]:
    """Lines in place of the old ones that are the old or the new ones, as the switch says; the best way first."""
    line = old[0]
    indent = line[:len(line) - len(line.lstrip())]
    bare = lambda text: text[:len(outside_texts(text).rstrip())].strip()
    chosen = f"isInvented({number})"
    if not new:
        return [[f"{indent}if !{chosen} {{ {bare(line)} }}"]]
    if len(new) == 2:
        first, second = map(bare, old)
        return [[f"{indent}if {chosen} {{ {second}; {first} }} else {{ {first}; {second} }}", ""]]
    other = new[0]
    # What differs, widened to whole words.
    start = next(index for index, (one, two) in enumerate(zip(line + "\n", other + "\r")) if one != two)
    same = next(index for index, (one, two) in enumerate(zip(line[::-1] + "\n", other[::-1] + "\r")) if one != two)
    start = min(start, len(line) - same, len(other) - same)
    while start and re.match(r"[\w.&|<>=!+-]", line[start - 1]):
        start -= 1
    while same and re.match(r"[\w.&|<>=!+-]", line[len(line) - same]):
        same -= 1
    end, end_of_other = len(line) - same, len(other) - same
    ways = []
    if jump := JUMP.fullmatch(line[start:end]):
        return [[f"{line[:start]}if {chosen} {{ {other[start:end_of_other]} }} else {{ {jump[1]} }}{line[end:]}"]]
    left, right = segment(line, start, end)
    value = line[left:right]
    if is_balanced(value) and not re.match(r"[-+*/.<>=&|?!]+ |\.", value) and not re.search(r" [-+*/<>=&|?]+$", value):
        changed = line[left:start] + other[start:end_of_other] + line[end:right]
        ways.append([f"{line[:left]}({chosen} ? ({changed}) : ({value})){line[right:]}"])
    if STATEMENT.match(line.strip()) and is_balanced(line):
        ways.append([f"{indent}if {chosen} {{ {bare(other)} }} else {{ {bare(line)} }}"])
    return ways

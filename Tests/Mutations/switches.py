"""Puts many bugs into one build, each behind a switch that the environment turns on: mutant schemata.

`a < b` becomes `(isInvented(17) ? (a <= b) : (a < b))`, and a call `if !isInvented(17) { call() }`. Each stays on its line, so
that an error of the compiler tells which bug it is about.
"""
import pathlib
import re
import sys
import typing

import scratch

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
# Conditions, and what stands before and behind them.
LIST = re.compile(r"(\s*(?:\} else )?(?:if|guard|while) |\s*for .* where )(.*?)((?: else)? \{.*)")
STATEMENT = re.compile(r"(if|for|return|throw)\b|(?:_ = )?(?:try[?!]? )?(?:await )?[\w.?!\[\]]+(\(| [-+*/|&]?= )")


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


def split(code: str, mark: str) -> list[str]:
    """The parts of a line between marks that are in no brackets and no text."""
    places = [match.start() for match in re.finditer(re.escape(mark), flat(outside_texts(code)))]
    return [code[start:end] for start, end in zip([0] + [place + len(mark) for place in places], places + [len(code)])]


def with_condition(number: int, line: str, other: str) -> str | None:
    """The line with a condition more or less, as the switch says; nil when it is not that by which the other differs."""
    parts = [LIST.fullmatch(code) for code in (line, other)]
    if not all(parts) or parts[0][1] != parts[1][1] or parts[0][3] != parts[1][3]:
        return None
    old, new = (split(part[2], ", ") for part in parts)
    longer, shorter, sign = (old, new, "") if len(old) > len(new) else (new, old, "!")
    for place, condition in enumerate(longer):
        if shorter == longer[:place] + longer[place + 1:] and not re.match(r"(let|var|case)\b", condition):
            changed = longer[:place] + [f"({sign}isInvented({number}) || ({condition}))"] + longer[place + 1:]
            return parts[0][1] + ", ".join(changed) + parts[0][3]
    return None


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
    if re.match(r"\s*case\b", line):
        label, *statement = split(line, ": ")
        other_label, *other_statement = split(other, ": ")
        if statement and label == other_label:
            return [[f"{label}: {way}"] for (way,) in switched(number, [": ".join(statement)], [": ".join(other_statement)])]
        if statement and statement == other_statement:
            return [[f"{way}: {': '.join(statement)}"] for (way,) in switched(number, [label], [other_label])]
    if way := with_condition(number, line, other):
        return [[way]]
    # What differs, widened to whole words.
    start = next(index for index, (one, two) in enumerate(zip(line + "\n", other + "\r")) if one != two)
    same = next(index for index, (one, two) in enumerate(zip(line[::-1] + "\n", other[::-1] + "\r")) if one != two)
    same = min(same, len(line) - start, len(other) - start)
    while start and re.match(r"[\w.&|<>=!+-]", line[start - 1]):
        start -= 1
    while same and re.match(r"[\w.&|<>=!+-]", line[len(line) - same]):
        same -= 1
    end, end_of_other = len(line) - same, len(other) - same
    ways = []
    if jump := JUMP.fullmatch(line[start:end]):
        return [[f"{line[:start]}if {chosen} {{ {other[start:end_of_other]} }} else {{ {jump[1]} }}{line[end:]}"]]
    left, right = segment(line, start, end)
    value, changed = line[left:right], line[left:start] + other[start:end_of_other] + line[end:right]
    is_value = not re.match(r"[-+*/.<>=&|?!]+ |\.|(if|for|while|guard|let|var|_)\b", value)
    if is_balanced(value) and is_value and not re.search(r" [-+*/<>=&|?]+$", value) and len(split(value, ", ")) == 1:
        ways.append([f"{line[:left]}({chosen} ? ({changed}) : ({value})){line[right:]}"])
    if STATEMENT.match(line.strip()) and is_balanced(line):
        ways.append([f"{indent}if {chosen} {{ {bare(other)} }} else {{ {bare(line)} }}"])
    return ways


def module(path: pathlib.Path) -> str:
    return path.parts[1 if path.parts[0] == "Sources" else 2]


class Bug(typing.Protocol):
    """The index of the first line of a file, the lines, and the lines in their place; the test targets that may find it."""

    path: pathlib.Path
    index: int
    old: list[str]
    new: list[str]
    targets: list[str]


def apart(bugs: typing.Iterable[Bug], count: int | None = None) -> list[Bug]:
    """So many of the bugs, no two of which touch a line."""
    taken: set[tuple[pathlib.Path, int]] = set()
    picked = []
    for bug in bugs:
        lines = {(bug.path, bug.index + offset) for offset in range(len(bug.old))}
        if len(picked) != count and not lines & taken:
            taken |= lines
            picked.append(bug)
    return picked


class Build:
    """The bugs that compile, each behind the switch of its number."""

    def __init__(self, bugs: list[Bug]) -> None:
        self.ways = {
            number: (bug, switched(number, bug.old, bug.new)) for number, bug in enumerate(bugs, start=1)}
        self.ways = {number: (bug, ways) for number, (bug, ways) in self.ways.items() if ways}
        self.paths = {bug.path for bug in bugs}

    def bugs(self) -> dict[int, Bug]:
        return {number: bug for number, (bug, _) in self.ways.items()}

    def write(self) -> None:
        texts = {path: (scratch.ROOT / path).read_text().split("\n") for path in self.paths}
        for bug, ways in self.ways.values():
            lines = texts[bug.path]
            lines[bug.index:bug.index + len(bug.old)] = ways[0]
            root = pathlib.Path(*bug.path.parts[:2 if bug.path.parts[0] == "Sources" else 3])
            scratch.write(scratch.FOLDER / root / NAME, SOURCE.encode())
        for path, lines in texts.items():
            scratch.write(scratch.FOLDER / path, "\n".join(lines).encode())

    def give_up(self, path: pathlib.Path, index: int) -> None:
        """Takes the next way for the bug of a line that does not compile, or leaves the bug out.

        An error about a whole function, such as a variable that is not always set, leaves out what leaves out a statement
        there; if nothing does, all bugs of the function, or of the file.
        """
        guilty = [number for number, (bug, _) in self.ways.items()
                  if bug.path == path and bug.index <= index < bug.index + len(bug.old)]
        if guilty:
            self.ways[guilty[0]][1].pop(0)
        else:
            lines = (scratch.ROOT / path).read_text().split("\n")
            indent = lambda line: len(line) - len(line.lstrip())
            start = next((each for each in range(min(index, len(lines) - 1), -1, -1) if re.search(
                r"\b(func|init|subscript|deinit)\b.*[({]|\bvar\b.*\{$", lines[each])), 0)
            end = next((each for each in range(index, len(lines))
                        if lines[each].strip() == "}" and indent(lines[each]) <= indent(lines[start])), len(lines))
            within = [(bug, ways) for bug, ways in self.ways.values() if bug.path == path]
            inside = [(bug, ways) for bug, ways in within if start <= bug.index <= end]
            for _, ways in [(bug, ways) for bug, ways in inside if not bug.new] or inside or within:
                ways.clear()
        self.ways = {number: (bug, ways) for number, (bug, ways) in self.ways.items() if ways}

    def run(self) -> None:
        """Builds until all that is left compiles."""
        scratch.copy({target for bug in self.bugs().values() for target in bug.targets})
        modules = sorted({module(bug.path) for bug in self.bugs().values()})
        for step in [["--target", name] for name in modules] + [["--build-tests"]]:
            while True:
                self.write()
                code, output = scratch.build(*step)
                if not code:
                    break
                errors = {(pathlib.Path(path), int(line) - 1) for path, line in re.findall(
                    rf"^{re.escape(str(scratch.FOLDER.resolve()))}/(\S+\.swift):(\d+):\d+: error:", output, re.MULTILINE)}
                before = sum(len(ways) for _, ways in self.ways.values())
                for path, index in sorted(errors):
                    self.give_up(path, index)
                if before == sum(len(ways) for _, ways in self.ways.values()):
                    sys.exit(f"does not compile:\n{output[-3000:]}")

#!/usr/bin/env python3
"""structure.py TOP : the tree keeps the rules of the house (docs/architecture.md).

Prints a line for each place that breaks one, and fails when there is any. test_structure.py shows that every rule can fail.
"""
import os
import re
import subprocess
import sys

# What the sources of a folder may include besides their own. tests/ may include anything.
MAY_INCLUDE = {
    "base": [],
    "profile": ["base"],
    "formats": ["base", "profile"],
    "storage": ["base", "profile"],
    "collector": ["base", "profile"],
    "proto": [],
    "web": ["base"],
    "api": ["base", "profile", "proto"],
    "server": ["base", "profile", "formats", "storage", "collector", "api", "proto", "web"],
}

# Parts of a folder, and what of it they must not include.
KEEPS_OUT_OF = {
    "server/http/": ["server/query/", "server/command/"],
    "server/routes/": ["server/command/"],
    "server/push/": ["server/query/", "server/command/"],
    "server/guard/": ["server/query/", "server/command/"],
    "server/query/": ["server/http/", "server/routes/", "server/command/"],
    "server/command/": ["server/http/", "server/routes/"],
}

# Headers of outside libraries, and the folders or single files that may include them.
LIBRARIES = [
    (r"xxhash\.h", ["base/hash.h"]),
    (r"re2/.*", ["base/regex.cc"]),
    (r"jansson\.h", ["base/json.c"]),
    (r"(libdeflate|zlib)\.h", ["base/gzip.c"]),
    (r"(zstd|zstd_errors|zdict)\.h", ["base/zstd.c"]),
    (r"curl/.*", ["base/http_client.c"]),
    (r"sqlite3(ext)?\.h", ["storage/"]),
    (r"microhttpd\.h", ["server/"]),
    (r"nghttp2/.*", ["server/http/http2_session.c"]),
    (r"yaml\.h", ["server/"]),
    (r"gnutls/.*", ["server/"]),
    (r"protobuf-c/.*", ["proto/", "api/"]),
    (r".*\.pb-c\.h", ["proto/", "api/", "server/"]),
    (r"bpf/.*|linux/(bpf|perf_event)\.h", ["collector/"]),
    (r"(libelf|gelf|dwarf)\.h|elfutils/.*", ["collector/"]),
    (r"lzma\.h", ["collector/elf/debug_data.c"]),
    (r"libiberty/.*", ["collector/elf/demangle.c"]),
]

SOURCE = re.compile(r"\.(c|h|cc|def)$")
INCLUDE = re.compile(r'\s*#\s*include\s+[<"]([^>"]+)[>"]')
README_LINES = 60  # a page
SOURCE_LINES = 500  # a file of TypeScript
LISTED = re.compile(r"^test_\w+\.py$|\.bpf\.[ch]$")

# Recorded or foreign bytes, which say what they say; and the lists of forbidden words.
FOREIGN = ("tests/captures/", "tests/conformance/", "tests/bench/workload/", "tests/data/", "tests/fuzz/corpus/",
           "tests/structure/", "tests/tree/", "LICENSE")
TEXT = re.compile(r"\.(c|h|cc|def|md|py|sh|proto|cmake|txt|ya?ml|json|html|css|tsx?|service)$|(^|/)(\.ci/run|Dockerfile|CMakeLists\.txt)$")
FORBIDDEN = [
    (re.compile(r"(?<![\w.$}%>~])/(work|root|home)/"), "a path of one machine"),
    (re.compile(r"\bshared/(spec|design|style|conformance|captures|bench|prototypes)\b"), "a path outside the project"),
    (re.compile(r"\b(pypi\.org|pythonhosted\.org|npmjs\.(org|com)|crates\.io|proxy\.golang\.org|deb\.debian\.org)\b"),
     "the host of a package registry"),
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "a note about work not done"),
]

PROTO_STRING = re.compile(r"^\s*(?:(?:repeated|optional|required)\s+)?(?:string|map\s*<[^>]*\bstring\b[^>]*>)\s+\w+\s*=")


def listing(top):
    """The tracked files; without git, every file outside of what builds make."""
    asked = subprocess.run(["git", "-C", top, "ls-files", "-z"], capture_output=True, text=True, check=False)
    if asked.returncode == 0 and os.path.exists(os.path.join(top, ".git")):
        return [path for path in asked.stdout.split("\0") if path and os.path.isfile(os.path.join(top, path))]
    found = []
    for folder, inside, names in os.walk(top):
        inside[:] = [name for name in inside if name not in ("build", "data", "__pycache__", "node_modules", ".git")
                     or (name == "data" and folder != top)]
        found += [os.path.relpath(os.path.join(folder, name), top) for name in names]
    return sorted(found)


def lines(top, path):
    with open(os.path.join(top, path), encoding="utf-8", errors="replace") as file:
        yield from enumerate(file, 1)


def check_includes(top, paths):
    for path in paths:
        folder = path.split("/")[0]
        if folder not in MAY_INCLUDE or not SOURCE.search(path):
            continue
        for number, line in lines(top, path):
            found = INCLUDE.match(line)
            if not found:
                continue
            header = found[1]
            target = header.split("/")[0] if "/" in header else folder
            if target in MAY_INCLUDE and target != folder and target not in MAY_INCLUDE[folder]:
                yield f"{path}:{number}: {folder} must not know {header}"
            for part, others in KEEPS_OUT_OF.items():
                if path.startswith(part) and header.startswith(tuple(others)):
                    yield f"{path}:{number}: {part} must not know {header}"
            for library, places in LIBRARIES:
                if re.fullmatch(library, header) and not path.startswith(tuple(places)):
                    yield f"{path}:{number}: {header} belongs in {', '.join(places)}"


def check_readmes(top, paths):
    folders = sorted({path.split("/")[0] for path in paths if "/" in path and not path.startswith(".")} |
                     {part[:-1] for part in KEEPS_OUT_OF if any(path.startswith(part) for path in paths)})
    for folder in folders:
        readme = f"{folder}/README.md"
        if readme not in paths:
            yield f"{folder} has no README.md"
            continue
        count = sum(1 for _ in lines(top, readme))
        if count > README_LINES:
            yield f"{readme} has {count} lines; a page has {README_LINES}"


def check_listed(top, paths):
    """What a folder's page has a line for: end-to-end tests, and the programs in the kernel with what they include."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        readme = f"{folder}/README.md"
        if readme not in paths or not LISTED.search(name):
            continue
        noun = name.split(".")[0]
        if not any(re.search(rf"`{re.escape(noun)}[`.]", line) for _, line in lines(top, readme)):
            yield f"{path}: {readme} does not name it"


def check_lengths(top, paths):
    """One noun a file: a source of web/ that has grown past this has two."""
    for path in paths:
        if not re.search(r"^web/.*\.tsx?$", path):
            continue
        count = sum(1 for _ in lines(top, path))
        if count > SOURCE_LINES:
            yield f"{path} has {count} lines; a source has {SOURCE_LINES}"


def check_text(top, paths):
    for path in paths:
        if path.startswith(FOREIGN) or not TEXT.search(path):
            continue
        for number, line in lines(top, path):
            for words, meaning in FORBIDDEN:
                if words.search(line):
                    yield f"{path}:{number}: {meaning}"


def check_protos(top, paths):
    for path in paths:
        if not path.endswith(".proto"):
            continue
        for number, line in lines(top, path):
            if PROTO_STRING.match(line):
                yield f"{path}:{number}: a string that is not bytes (protobuf-c cuts strings at NUL)"


def check_nouns(_top, paths):
    """One noun, one pair of files: functions are named by it, and all folders are linked into one program."""
    seen = {}
    for path in paths:
        name = path.rpartition("/")[2]
        if path.split("/")[0] not in MAY_INCLUDE or not name.endswith((".c", ".cc", ".h")):
            continue
        if name in seen:
            yield f"{path}: {seen[name]} has that name"
        seen.setdefault(name, path)


def check_tests(top, paths):
    """A test that no CMakeLists.txt names is never run."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        found = re.fullmatch(r"(?:test|fuzz)_(\w+)\.(c|py)", name)
        if not found or not path.startswith(("tests/unit/", "tests/fuzz/", "tests/api/", "tests/structure/")):
            continue
        lists = f"{folder}/CMakeLists.txt"
        text = "".join(line for _, line in lines(top, lists)) if lists in paths else ""
        if not re.search(rf"\b{name}\b" if found[2] == "py" else rf"\(\s*{found[1]}\b", text):
            yield f"{path}: no line of {lists} runs it"


CHECKS = [check_includes, check_readmes, check_listed, check_lengths, check_text, check_protos, check_nouns, check_tests]


def problems(top):
    paths = listing(top)
    return [line for check in CHECKS for line in check(top, paths)]


def main():
    found = problems(sys.argv[1])
    for line in found:
        print(line)
    print(f"{len(found)} places break the rules" if found else "the tree keeps its rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""rules.py SOURCE : the tree keeps its rules (docs/architecture.md, "The house").

Dependencies between folders run one way, each outside library is included where it belongs, and every folder with content
has its README.
"""
import os
import re
import subprocess
import sys

# What the sources of a folder may include, besides themselves.
MAY_INCLUDE = {
    "base": [],
    "profile": ["base"],
    "formats": ["base", "profile"],
    "storage": ["base", "profile"],
    "collector": ["base", "profile"],
    "proto": ["base"],
    "api": ["base", "profile", "proto"],
    "server": ["base", "profile", "formats", "storage", "collector", "api", "proto", "web"],
}

# Headers of outside libraries and where they may be included: a folder, or one file.
LIBRARIES = {
    r"sqlite3\.h": ["storage/"],
    r"microhttpd\.h": ["server/"],
    r"nghttp2/.*": ["server/"],
    r"yaml\.h": ["server/"],
    r"protobuf-c/.*": ["proto/", "api/", "server/"],
    r".*\.pb-c\.h": ["proto/", "api/", "server/"],
    r"xxhash\.h": ["base/hash.h", "base/hash.c"],
    r"re2/.*": ["base/regex.cc"],
    r"jansson\.h": ["base/json.c"],
    r"zlib\.h": ["base/gzip.c"],
    r"libdeflate\.h": ["base/gzip.c"],
    r"zstd\.h": ["base/zstd.c"],
    r"curl/.*": ["base/http_client.c"],
}
MUST_HAVE_README = list(MAY_INCLUDE) + ["tests", "tests/api"]


def sources(top):
    for folder in MAY_INCLUDE:
        for path, _, names in os.walk(os.path.join(top, folder)):
            for name in names:
                if name.endswith((".c", ".h", ".cc", ".def")):
                    yield os.path.relpath(os.path.join(path, name), top)


def includes(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if found:
                yield number, found[2]


def check_includes(top):
    for path in sources(top):
        folder = path.split("/")[0]
        for number, header in includes(top, path):
            target = header.split("/")[0]
            if target in MAY_INCLUDE and target != folder and target not in MAY_INCLUDE[folder]:
                yield "%s:%d: %s must not know %s" % (path, number, folder, header)
            for library, places in LIBRARIES.items():
                if re.fullmatch(library, header) and not any(path.startswith(p) for p in places):
                    yield "%s:%d: %s belongs in %s" % (path, number, header, ", ".join(places))


def check_readmes(top):
    for folder in MUST_HAVE_README:
        here = os.path.join(top, folder)
        if os.path.isdir(here) and any(n != "README.md" for n in os.listdir(here)):
            readme = os.path.join(here, "README.md")
            if not os.path.isfile(readme):
                yield "%s has no README.md" % folder
            elif sum(1 for _ in open(readme, encoding="utf-8")) > 80:
                yield "%s/README.md is longer than a page" % folder


def check_text(top):
    """What a clone elsewhere could not follow: paths of a machine."""
    listed = subprocess.run(["git", "-C", top, "ls-files"], capture_output=True, text=True, check=False).stdout.split()
    for path in listed:
        if path.startswith(("tests/captures/", "tests/conformance/", "tests/bench/workload/")):
            continue
        if not re.search(r"\.(c|h|cc|md|py|sh|def|proto|cmake|txt|yaml|yml)$|^(run|test)\.sh$|^\.ci/run$", path):
            continue
        try:
            with open(os.path.join(top, path), encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if re.search(r"(^|[^A-Za-z0-9%}>.\"'])/(work|home)/[a-z]", line):
                        yield "%s:%d: a path of one machine" % (path, number)
        except (OSError, UnicodeDecodeError):
            continue


def main():
    top = sys.argv[1]
    wrong = [*check_includes(top), *check_readmes(top), *check_text(top)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Commands that pages show, and a machine where they can be run: one extractor for docs/api and docs/how-to.

An `sh` block is run. A `json` or `text` block right behind it is its answer: objects may have more keys than a page shows, and of a text
`...` stands for anything. What a test cannot run stands in a block without a language.
"""
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile

import harness

OF_THIS_MACHINE = re.compile(r"(?<![\w./}])/(?:etc|usr|var|opt|srv|lib|run|root|home|boot)(?:/|\b)")
RECORDING = os.path.join(harness.ROOT, "deploy/demo/llm_server.recording")
BLOCK = re.compile(r"^( *)```sh\n(.*?)^ *```$(?:\n+ *```(json|text)\n(.*?)^ *```$)?", re.M | re.S)

# What commands call vramscope. A server goes on behind its command, on the page's port; what watches a machine sees a recording.
VRAMSCOPE = """#!/bin/sh
place='{place}'
stop() {{
	[ -f "$place/pid" ] || return 0
	kill "$(cat "$place/pid")"
	for try in $(seq 3000); do [ -f "$place/status" ] && break; sleep 0.02; done
	rm -f "$place/pid" "$place/port"
	[ "$(cat "$place/status")" = 0 ]
}}
start() {{
	stop || return 1
	rm -f "$place/status"
	(
		sh -c 'echo $$ >"$0/pid"; exec "$@"' "$place" '{program}' "$@" -server.http-listen-address=127.0.0.1 \\
			-server.http-listen-port={port} -server.http-port-file="$place/port" </dev/null
		echo $? >"$place/status"
	) >>"$place/log" 2>&1 &
	for try in $(seq 3000); do
		if [ -s "$place/port" ]; then
			curl -sfo "$place/ready" http://127.0.0.1:{port}/ready && return 0
			curl -sfko "$place/ready" https://127.0.0.1:{port}/ready && return 0
		fi
		[ -f "$place/status" ] && break
		sleep 0.02
	done
	rm -f "$place/pid"
	tail -n 5 "$place/log" >&2
	return 1
}}
store="$place/var/lib/vramscope"
case "${{1-}} $* " in
"systemctl "*" stop "*) stop ;;
"systemctl "*" start "*) start server -storage.path="$store" ;;
"server "*-storage.path*) start "$@" ;;
"server "*) start "$@" -storage.path="$store" ;;
"run "*-collector.replay*) start "$@" -collector.interval=1s ;;
"run "*) start "$@" -collector.interval=1s -collector.replay='{recording}' ;;
"collector "*-collector.replay*) exec '{program}' "$@" ;;
"collector "*) exec '{program}' "$@" -collector.replay='{recording}' ;;
"doctor "*) '{program}' "$@"; [ $? -le 1 ] ;;
*) exec '{program}' "$@" ;;
esac
"""
PROGRAMS = {
    "vramscope": VRAMSCOPE,
    "systemctl": "#!/bin/sh\nexec '{place}/bin/vramscope' systemctl \"$@\"\n",
    # a page must not change the machine that the test runs on
    "sudo": """#!/bin/sh
case "$1" in
vramscope | systemctl) exec "$@" ;;
esac
echo "sudo $*: no test does that; show it in a block without a language" >&2
exit 1
""",
    # where Graphviz is not installed: whether it could read that
    "dot": "#!/bin/sh\nhead -n 1 | grep -q '^digraph '\n",
}


class Example:
    def __init__(self, page, command, kind, answer):
        self.page, self.command, self.kind, self.answer = page, command, kind, answer

    def misses(self, printed):
        """What is wrong with that answer; empty when nothing is."""
        if self.kind == "json":
            try:
                return "" if contains(json.loads(printed), json.loads(self.answer)) else printed
            except ValueError:
                return printed or "nothing was printed"
        if self.kind == "text":
            pattern = ".*".join(map(re.escape, self.answer.strip().split("...")))
            return "" if re.fullmatch(pattern, printed.strip(), re.S) else printed or "nothing was printed"
        return ""


def of_page(path):
    with open(os.path.join(harness.ROOT, path), encoding="utf-8") as file:
        text = file.read()
    return [Example(path, re.sub("^" + indent, "", command, flags=re.M), kind, answer) for indent, command, kind, answer in BLOCK.findall(text)]


def contains(got, want):
    """Objects may have more keys, everything else is equal."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and contains(got[k], v) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(contains, got, want))
    return got == want


class Machine:
    """A folder that stands for a machine: programs, files, and a server that commands start, stop and ask; `with Machine() as machine`.

    `names` are more names of pages with what they stand for here: a text, or a function that is asked when a command has it."""

    def __init__(self, names=None):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="vramscope-test-"))
        self.port = harness.Port()
        self.names = {
            "127.0.0.1:4040": "127.0.0.1:%d" % self.port.number,
            "store.example:4040": "127.0.0.1:%d" % self.port.number,
            "build/release/vramscope": "vramscope",
            "/var/lib/vramscope/spool": self.path("spool"),
            "/var/lib/vramscope": self.path("var/lib/vramscope"),
            "/backups": self.path("backups"),
            "/etc/vramscope": self.path("etc/vramscope"),
        }
        self.names.update(names or {})
        for name in ("bin", "work", "backups", "var/lib", "etc/vramscope"):
            os.makedirs(self.path(name))
        for name, text in PROGRAMS.items():
            if name == "dot" and shutil.which("dot"):
                continue
            with open(self.path("bin", name), "w", encoding="utf-8") as file:
                file.write(text.format(place=self.folder, program=harness.PROGRAM, recording=RECORDING, port=self.port.number,
                                       url=self.port.url))
            os.chmod(self.path("bin", name), stat.S_IRWXU)
        # the half of `run` that serves is an ordinary user
        for name in (".", "var", "var/lib"):
            os.chmod(self.path(name), 0o777)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    @property
    def url(self):
        return self.port.url

    def here(self, command):
        for name, stands_for in sorted(self.names.items(), key=lambda item: -len(item[0])):
            if name in command:
                command = command.replace(name, stands_for if isinstance(stands_for, str) else stands_for(self))
        # what is not named above is this machine's
        named = OF_THIS_MACHINE.search(command.replace(self.folder, "here"))
        if named:
            raise ValueError("a page names %s, for which nothing stands here: %s" % (named[0], command))
        return command

    def run(self, command):
        """A command of a page here; gives its exit status, standard output and standard error."""
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"], VRAMSCOPE_URL=self.url, HOME=self.path("work"))
        done = subprocess.run(["sh", "-ec", self.here(command)], cwd=self.path("work"), capture_output=True, text=True, timeout=120,
                              check=False, env=environment, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def misses(self, example, seconds=60):
        """Runs an example, one with an answer again until it is what the page shows; gives what is wrong in the end."""
        last = ""

        def is_over():
            nonlocal last
            status, out, err = self.run(example.command)
            last = "exit status %d: %s%s" % (status, out, err) if status else example.misses(out)
            return not last or not example.kind
        try:
            harness.wait_until(is_over, seconds, example.command)
        except TimeoutError:
            pass
        return last

    def close(self):
        """Ends the page's server; one that does not end well, or leaves a store that is not whole, fails the test."""
        try:
            status, _, err = self.run("systemctl stop vramscope")
            if status:
                raise RuntimeError("the page's server did not end well: %s\n%s" % (err, self.log_text()))
            if os.path.exists(self.path("var/lib/vramscope/STORE")):
                status, out, err = harness.vramscope("verify", "--quiet", self.path("var/lib/vramscope"))
                if status:
                    raise RuntimeError("the store that is left behind is damaged:\n%s%s" % (out, err))
        finally:
            self.port.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def log_text(self):
        with open(self.path("log"), encoding="utf-8", errors="backslashreplace") as file:
            return file.read()[-4000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

#!/usr/bin/env python3
"""Commands, flags and configuration files: what they say of themselves and of what is wrong with them."""
import os
import subprocess
import tempfile
import unittest

import harness


class CommandLine(unittest.TestCase):
    def test_unknown_flags_and_commands_are_2_with_a_hint(self):
        for arguments, hint in ((["-server.http-listen-prot=1"], "did you mean -server.http-listen-port?"),
                                (["--storage-path=x"], "did you mean -storage.path?"),
                                (["-zzz"], "unknown flag -zzz"),
                                (["serve"], "did you mean 'server'?"),
                                (["-server.http-listen-port=x"], "not a port"),
                                (["-server.http-listen-port"], "needs a value"),
                                (["-storage.retention=1x"], "not a duration"),
                                (["-target=ingester"], "not one of all"),
                                (["server", "x"], "unexpected argument"),
                                (["-config.file=/nowhere/at.yaml"], "/nowhere/at.yaml")):
            status, _, err = harness.vramscope(*arguments)
            self.assertEqual((arguments, status), (arguments, 2))
            self.assertIn(hint, err)

    def test_help_is_0_on_standard_output(self):
        for arguments in (["-h"], ["--help"], ["help"], ["help", "server"], ["server", "-h"], ["server", "-help-all"],
                          ["help", "config"], ["config", "-h"], ["-version"], ["server", "--version"]):
            status, out, err = harness.vramscope(*arguments)
            self.assertEqual((arguments, status, err), (arguments, 0, ""))
            self.assertTrue(out)
        self.assertIn("-validation.reject-older-than", harness.vramscope("server", "-help-all")[1])
        self.assertNotIn("-validation.reject-older-than", harness.vramscope("server", "-h")[1])

    def test_the_committed_documents_are_what_the_tables_give(self):
        for what in ("options", "metrics"):
            with open(os.path.join(harness.ROOT, "docs", what + ".md")) as file:
                self.assertEqual(harness.vramscope("config", "print-docs", what)[1], file.read())

    def test_the_printed_defaults_are_a_configuration(self):
        with harness.Server() as server:
            path = os.path.join(server.folder, "defaults.yaml")
            with open(path, "w") as file:
                file.write(harness.vramscope("config", "print-defaults")[1])
            self.assertEqual(harness.vramscope("config", "check", path)[0], 0)
            with open(path, "a") as file:
                file.write("storrage:\n  path: x\n")
            status, _, err = harness.vramscope("config", "check", path)
            self.assertEqual(status, 2)
            self.assertIn("did you mean storage.path?", err)

    def test_config_says_which_words_it_expects(self):
        for arguments, hint in ((["chek", "x"], "did you mean 'check'?"), (["check"], "which FILE?"), (["check", "a", "b"], "one FILE is expected"),
                                (["print-docs"], "other words")):
            status, out, err = harness.vramscope("config", *arguments)
            self.assertEqual((status, out), (2, ""), arguments)
            self.assertIn(hint, err, arguments)

    def test_a_variable_that_nobody_replaces_is_told(self):
        with tempfile.TemporaryDirectory(prefix="vramscope-test-") as folder:
            path = os.path.join(folder, "config.yaml")
            with open(path, "w") as file:
                file.write("server:\n  http_listen_port: ${PORT:-4040}\n")
            status, _, err = harness.vramscope("config", "check", path)
            self.assertEqual(status, 2)
            self.assertIn("-config.expand-env", err)
            self.assertEqual(harness.vramscope("config", "check", "-config.expand-env", path)[0], 0)
            with open(path, "w") as file:
                file.write("storage:\n  path: ${HOME}/store\n")
            status, _, err = harness.vramscope("config", "check", path)
            self.assertEqual(status, 0)
            self.assertIn("-config.expand-env", err)

    def test_what_stands_in_the_way_is_named(self):
        with tempfile.NamedTemporaryFile(prefix="vramscope-test-") as file:
            status, _, err = harness.vramscope("server", "-server.http-listen-port=0", "-storage.path=" + file.name)
            self.assertEqual(status, 1)
            self.assertIn("is a file; a folder is expected", err)
        with tempfile.TemporaryDirectory(prefix="vramscope-test-") as folder:
            for arguments, hint in ((["server", "-server.http-listen-address=256.0.0.1"], "-server.http-listen-address=256.0.0.1: "),
                                    (["run", "-collector.replay=/nosuch/file"], "-collector.replay=/nosuch/file: ")):
                status, _, err = harness.vramscope(*arguments, "-server.http-listen-port=0", "-storage.path=" + folder)
                self.assertEqual(status, 1, err)
                self.assertIn(hint, err)

    def test_help_lists_what_a_command_looks_at(self):
        collector, server = (harness.vramscope(command, "-help-all")[1] for command in ("collector", "server"))
        self.assertIn("-collector.interval", collector)
        self.assertNotIn("-storage.retention", collector)
        self.assertNotIn("-collector.interval", server)
        self.assertTrue(harness.vramscope("doctor", "-h")[1].startswith("usage: vramscope doctor\n\nEach"))

    def test_flags_of_pyroscope_without_meaning_are_passed_over(self):
        with harness.Server("-self-profiling.disable-push", "-memberlist.join", "x", "-target=all",
                            "-storage.backend=filesystem") as server:
            self.assertEqual(server.log_text().count("passed over"), 1)
            self.assertIn("-memberlist.join", server.log_text())

    def test_flags_without_a_command_are_the_server(self):
        with harness.Server() as server:
            server.stop()
            server.process = subprocess.Popen(
                [harness.PROGRAM, "-server.http-listen-port", "0", "--server.http-port-file", server.port_file + "2",
                 "-storage.path=" + server.store], stderr=subprocess.DEVNULL)
            harness.wait_until(lambda: os.path.exists(server.port_file + "2"), 30)
            with open(server.port_file + "2") as file:
                server.port = int(file.read())
            self.assertEqual(server.get("/ready").status, 200)


if __name__ == "__main__":
    harness.main()

"""Who may come in: credentials from a file or the environment, roles, tenants, guesses, and what strangers are told, in every protocol."""
import base64
import json
import os
import shutil
import signal
import subprocess
import unittest

import harness
from http2_client import Http2

READER, WRITER, ADMIN, TEAM = ("reader-0123456789", "writer-0123456789", "admins-0123456789", "teams--0123456789")
TEXT = "reader read * %s\nwriter write * %s\nadmin admin * %s\n" % (READER, WRITER, ADMIN)
READ = "/api/v1/services"
PROFILE = harness.pprof({"main;work": 7})
GRPC = {"Content-Type": "application/grpc", "TE": "trailers"}


def bearer(secret):
    return {"Authorization": "Bearer " + secret}


def basic(name, secret):
    return {"Authorization": "Basic " + base64.b64encode(("%s:%s" % (name, secret)).encode()).decode()}


class Guarded(harness.Server):
    """A server that asks for the credentials of a text."""

    def __init__(self, text, *options, **more):
        super().__init__(*options, **more)
        self.file = os.path.join(self.folder, "credentials")
        self.options.append("-auth.credentials-file=" + self.file)
        self.give(text)

    def give(self, text):
        with open(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)

    def reload(self, says):
        self.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: says in self.log_text(), 60, "'%s' in the log" % says)


def delete(server, headers):
    message = {"query": "{}", "from": 0, "until": 1000, "dry_run": True}
    return server.request("POST", "/api/v1/delete", json.dumps(message).encode(), dict({"Content-Type": "application/json"}, **headers))


class Auth(unittest.TestCase):
    def push(self, server, headers):
        return server.push(({"__name__": "memory", "service_name": "shop"}, [PROFILE]), headers=headers).status

    def test_each_role_does_what_it_may(self):
        with Guarded(TEXT) as server:
            for headers, read, write, admin in (
                    (bearer(READER), 200, 403, 403), (basic("reader", READER), 200, 403, 403), (bearer(WRITER), 403, 200, 403),
                    (bearer(ADMIN), 200, 200, 200), ({}, 401, 401, 401), (basic("reader", WRITER), 401, 401, 401)):
                self.assertEqual((server.get(READ, headers=headers).status, self.push(server, headers), delete(server, headers).status),
                                 (read, write, admin), headers)
            refused = server.get(READ, headers=bearer(WRITER))
            self.assertIn("lack the role read", refused.json["message"])
            self.assertNotIn("WWW-Authenticate", refused.headers)

    def test_strangers_are_told_how_to_come_in(self):
        with Guarded(TEXT) as server:
            for path in ("/", "/ui/", READ, "/api/v1/status/config", "/pyroscope/render?query=a", "/ui/assets/x.js"):
                answer = server.get(path)
                self.assertEqual((answer.status, answer.headers.get_all("WWW-Authenticate")),
                                 (401, ['Basic realm="vramscope", charset="UTF-8"', 'Bearer realm="vramscope"']), path)
            self.assertEqual(server.rpc("LabelNames", {}).json["code"], "unauthenticated")
            self.assertEqual(server.get("/ui/", headers=basic("reader", READER)).status, 200)

    def test_probes_are_open_and_so_are_metrics_to_this_machine_alone(self):
        with Guarded(TEXT) as server:
            for path in ("/ready", "/healthz", "/metrics"):
                self.assertEqual(server.get(path).status, 200, path)
            proxied = {"X-Forwarded-For": "192.0.2.1"}
            self.assertEqual(server.get("/metrics", headers=proxied).status, 401)
            self.assertEqual(server.get("/metrics", headers=dict(proxied, **bearer(READER))).status, 200)
            self.assertEqual(server.get("/metrics", headers=dict(proxied, **bearer(WRITER))).status, 403)
        with Guarded(TEXT, "-auth.open-metrics") as server:
            self.assertEqual(server.get("/metrics", headers=proxied).status, 200)

    def test_calls_of_grpc_are_told_in_trailers(self):
        with Guarded(TEXT) as server:
            def status(headers, path="/version.v1.Version/Version"):
                with Http2(server.port) as peer:
                    stream = peer.begin("POST", path, dict(GRPC, **headers), end=False)
                    peer.send_data(stream, b"\0\0\0\0\0", end=True)
                    return peer.wait_for(stream).grpc[0]
            self.assertEqual((status({}), status(bearer(WRITER)), status(bearer(READER))), (16, 7, 0))
            self.assertEqual(status({}, "/grpc.health.v1.Health/Check"), 0)

    def test_guesses_end_in_429_with_the_right_secret_too(self):
        with Guarded(TEXT) as server:
            answers = [server.get(READ, headers=bearer("wrong-%011d" % i)) for i in range(30)]
            told = [answer.status for answer in answers]
            self.assertEqual((told[:20], set(told[20:]) - {401, 429}), ([401] * 20, set()))
            self.assertIn(429, told[20:])
            self.assertEqual(answers[told.index(429)].headers["Retry-After"], "5")
            self.assertEqual(server.get(READ, headers=bearer(READER)).status, 429)
            self.assertEqual((server.get("/ready").status, server.get(READ).status), (200, 401))  # who says nothing guesses nothing

    def test_tenants_are_those_of_the_credentials(self):
        text = TEXT + "team read,write team-a %s\nteams read team-a,team-b %s2\n" % (TEAM, TEAM)
        with Guarded(text, "-auth.multitenancy-enabled") as server:
            self.assertEqual(self.push(server, bearer(TEAM)), 200)  # its only one
            for headers, status in ((bearer(TEAM), 200), (bearer(TEAM + "2"), 401), (bearer(READER), 401)):
                self.assertEqual(server.get(READ, headers=headers).status, status, headers)
            for tenant, statuses in (("team-a", (200, 200, 200)), ("team-b", (403, 200, 200)), ("team-c", (403, 403, 200))):
                name = {"X-Scope-OrgID": tenant}
                self.assertEqual(tuple(server.get(READ, headers=dict(name, **bearer(secret))).status for secret in (TEAM, TEAM + "2", READER)),
                                 statuses, tenant)
            names = [s["service_name"] for s in server.get(READ, headers=bearer(TEAM)).json["services"]]
            self.assertEqual(names, ["shop"])

    def test_tenants_without_tenancy_are_refused_at_the_start(self):
        server = Guarded("team read team-a %s\n" % TEAM)
        try:
            server.launch()
            self.assertEqual(server.process.wait(60), 1)
            self.assertIn("-auth.multitenancy-enabled", server.log_text())
        finally:
            shutil.rmtree(server.folder, ignore_errors=True)

    def test_sighup_reads_them_again_and_keeps_what_was_when_they_are_wrong(self):
        with Guarded(TEXT) as server:
            server.give("reader read * short\n")
            server.reload("a secret has 16")
            self.assertEqual(server.get(READ, headers=bearer(READER)).status, 200)
            server.give("other read * other-0123456789\n")
            server.process.send_signal(signal.SIGHUP)
            harness.wait_until(lambda: server.get(READ, headers=bearer("other-0123456789")).status == 200, 60, "the new credentials")
            self.assertEqual(server.get(READ, headers=bearer(READER)).status, 401)

    def test_the_environment_may_hold_them(self):
        server = harness.Server()
        server.environment = {"VRAMSCOPE_CREDENTIALS": TEXT}
        with server:
            self.assertEqual([server.get(READ, headers=h).status for h in ({}, bearer(READER))], [401, 200])

    def test_the_command_line_shows_a_token_of_the_environment(self):
        with Guarded(TEXT) as server:
            def run(*words, token=None):
                return subprocess.run([harness.PROGRAM, *words, "--url", server.url], capture_output=True, text=True, check=False, env=dict(
                    {k: v for k, v in os.environ.items() if k != "VRAMSCOPE_TOKEN"}, **({"VRAMSCOPE_TOKEN": token} if token else {})))
            file = os.path.join(server.folder, "profile.pb")
            with open(file, "wb") as out:
                out.write(harness.pprof({"main;work": 7}))
            told = run("push", file, "--service", "shop")
            self.assertIn("the environment's VRAMSCOPE_TOKEN holds the secret", told.stderr)
            self.assertEqual((told.returncode, run("push", file, "--service", "shop", token=WRITER).returncode), (1, 0), told)
            self.assertIn("lack the role write", run("push", file, "--service", "shop", token=READER).stderr)
            self.assertIn("visible characters", run("push", file, "--service", "shop", token="a b").stderr)

    def test_secrets_are_in_no_answer_and_no_log(self):
        with Guarded(TEXT, "-log.level=debug") as server:
            answers = [server.get("/api/v1/status/config" + end, headers=bearer(ADMIN)) for end in ("", "/diff")]
            server.get(READ, headers=bearer("wrong-0123456789"))
            self.assertEqual([a.status for a in answers], [200, 200])
            seen = server.log_text() + "".join(a.text for a in answers)
            for secret in (READER, WRITER, ADMIN, "wrong-0123456789"):
                self.assertNotIn(secret, seen)

    def test_pages_of_other_sites_change_nothing(self):
        with Guarded(TEXT) as server:
            headers = basic("admin", ADMIN)
            for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
                self.assertEqual(delete(server, dict(headers, **{"Sec-Fetch-Site": site})).status, status, site)

    def test_every_answer_tells_browsers_what_it_is_not(self):
        with harness.Server() as server:
            for path in ("/ready", "/metrics", READ, "/nothing", "/api/nothing", "/ui/", "/api/v1/status/config"):
                answer = server.get(path)
                for name, value in (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "same-origin"), ("X-Frame-Options", "SAMEORIGIN")):
                    self.assertEqual(answer.headers.get_all(name), [value], path)
                self.assertIn("frame-ancestors 'self'", answer.headers["Content-Security-Policy"], path)

    def test_an_open_door_to_the_network_is_told(self):
        with harness.Server("-server.http-listen-address=0.0.0.0") as server:
            self.assertEqual(server.log_text().count("-auth.credentials-file=FILE"), 1)
        with Guarded(TEXT, "-server.http-listen-address=0.0.0.0") as server:
            self.assertNotIn("-auth.credentials-file=FILE", server.log_text())
            self.assertEqual(server.log_text().count("credentials come in the clear"), 1)
        with harness.Server() as server:
            self.assertNotIn("-auth.credentials-file=FILE", server.log_text())


if __name__ == "__main__":
    harness.main()

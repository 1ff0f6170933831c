"""The pages below /ui/ as a browser gets them: bytes of web/dist, headers, redirects, what is refused, a prefix, a folder in their place."""
import gzip
import hashlib
import os
import tempfile
import unittest

import harness

DIST = os.path.join(harness.ROOT, "web/dist")
PACKED = {"Accept-Encoding": "gzip"}
POLICY = ("default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
          "frame-ancestors 'self'")
GUARDS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Content-Security-Policy": POLICY}


def files():
    """{path below web/dist: bytes}"""
    found = {}
    for folder, _, names in os.walk(DIST):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, DIST)] = file.read()
    return found


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("-auth.multitenancy-enabled").start()  # pages are nobody's
        cls.files = files()
        cls.assets = [path for path in cls.files if path.startswith("assets/")]
        cls.index = cls.files["index.html"].replace(b"<!--base-->", b'<base href="/ui/">')

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def assert_guarded(self, answer):
        for name, value in GUARDS.items():
            self.assertEqual(answer.headers.get_all(name), [value], answer)

    def test_every_file_is_that_of_the_tree(self):
        self.assertGreaterEqual(len(self.assets), 2)
        for path, content in self.files.items():
            if path == "index.html":
                continue
            plain = self.server.get("/ui/" + path)
            packed = self.server.get("/ui/" + path, headers=PACKED)
            self.assertEqual((plain.status, plain.body, plain.headers["Content-Encoding"]), (200, content, None), path)
            self.assertEqual((packed.status, gzip.decompress(packed.body), packed.headers["Content-Encoding"]), (200, content, "gzip"), path)
            self.assertEqual((plain.headers["ETag"], plain.headers["Vary"]), (packed.headers["ETag"], "Accept-Encoding"))
            self.assert_guarded(plain)

    def test_what_is_named_by_its_content_is_kept_for_ever(self):
        for path in self.assets:
            self.assertEqual(self.server.get("/ui/" + path).headers["Cache-Control"], "public, max-age=31536000, immutable")
        tags = [self.server.get("/ui/" + path).headers["ETag"] for path in self.files]
        self.assertEqual(len(set(tags)), len(tags))

    def test_types(self):
        kinds = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
                 ".svg": "image/svg+xml"}
        for path in self.files:
            self.assertEqual(self.server.get("/ui/" + path).headers["Content-Type"], kinds[os.path.splitext(path)[1]])

    def test_every_other_path_is_the_page(self):
        for path in ("/ui/", "/ui/index.html", "/ui/profile", "/ui/gpu?at=1", "/ui/no/such/page.js", "/ui/../ui/x", "/ui/%2e%2e/secret"):
            answer = self.server.get(path)
            self.assertEqual((answer.status, answer.body, answer.headers["Cache-Control"]), (200, self.index, "no-cache"), path)
            self.assert_guarded(answer)

    def test_an_asset_that_is_not_there_is_no_page(self):
        for path in ("/ui/assets/index-0.js", "/ui/assets/", "/ui/assets/../index.html", "/ui/assets/%00"):
            answer = self.server.get(path)
            self.assertEqual(answer.status, 404, path)
            self.assert_guarded(answer)

    def test_what_the_client_has_is_not_sent_again(self):
        for path in ("/ui/", "/ui/profile", "/ui/" + self.assets[0]):
            for headers in ({}, PACKED):
                tag = self.server.get(path, headers=headers).headers["ETag"]
                again = self.server.get(path, headers={"If-None-Match": '"other", W/' + tag, **headers})
                self.assertEqual((again.status, again.body, again.headers["ETag"]), (304, b"", tag), path)
                self.assert_guarded(again)
            self.assertEqual(self.server.get(path, headers={"If-None-Match": '"other"'}).status, 200)

    def test_head_says_the_same_without_a_body(self):
        for path in ("/ui/", "/ui/" + self.assets[0], "/ui/assets/none.js"):
            got, told = self.server.get(path), self.server.request("HEAD", path)
            self.assertEqual((told.status, told.body), (got.status, b""))
            for name in ("Content-Length", "Content-Type", "ETag", "Cache-Control", *GUARDS):
                self.assertEqual(told.headers[name], got.headers[name], name)

    def test_other_methods_are_told_the_right_ones(self):
        for path in ("/ui/", "/ui/x", "/ui/" + self.assets[0], "/", "/comparison"):
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                answer = self.server.request(method, path, b"x")
                self.assertEqual((answer.status, answer.headers["Allow"], answer.body), (405, "GET, HEAD", b""), path)
                self.assert_guarded(answer)

    def test_ways_to_the_pages(self):
        for path, to in (("/", "/ui/"), ("/?", "/ui/"), ("/ui", "/ui/"), ("/ui?theme=dark", "/ui/?theme=dark"),
                         ("/?query=cpu%7B%7D&from=now-1h", "/ui/profile?query=cpu%7B%7D&from=now-1h"),
                         ("/?from=now-1h&query=a", "/ui/profile?from=now-1h&query=a"), ("/comparison?a=b", "/ui/compare?a=b"),
                         ("/comparison-diff", "/ui/diff"), ("/explore", "/ui/labels"), ("/tags", "/ui/labels"), ("/adhoc", "/ui/upload")):
            answer = self.server.get(path)
            self.assertEqual((answer.status, answer.headers["Location"], answer.body), (302, to, b""), path)
            self.assert_guarded(answer)
        self.assertEqual(self.server.get("/uix").status, 404)

    def test_nothing_in_the_page_runs_what_the_policy_forbids(self):
        for path, content in self.files.items():
            self.assertNotRegex(content, rb"\beval\(|\bnew Function\(", path)
        self.assertNotRegex(self.index, rb"<script(?![^>]*\bsrc=)")
        self.assertNotRegex(self.index, rb"https?://")


class Prefixed(harness.Server):
    """Its routes are below a prefix, /ready too."""

    def _ready(self):
        try:
            return self.get("/a&b/ready").status == 200
        except OSError:
            return False


class Elsewhere(unittest.TestCase):
    def test_below_a_prefix(self):
        with Prefixed("-server.path-prefix=/a&b/") as server:
            self.assertEqual(server.get("/a&b/").headers["Location"], "/a&b/ui/")
            self.assertEqual(server.get("/a&b/ui").headers["Location"], "/a&b/ui/")
            self.assertIn(b'<base href="/a&#38;b/ui/">', server.get("/a&b/ui/gpu").body)
            self.assertEqual(server.get("/ui/").status, 404)
            asset = next(path for path in files() if path.startswith("assets/"))
            self.assertEqual(hashlib.sha256(server.get("/a&b/ui/" + asset).body).digest(), hashlib.sha256(files()[asset]).digest())

    def test_a_folder_in_the_place_of_those_in_the_program(self):
        with tempfile.TemporaryDirectory() as top:
            folder = os.path.join(top, "dist")
            os.makedirs(os.path.join(folder, "assets/deep.js"))
            for path, text in (("dist/index.html", "<!--base-->one"), ("secret.js", "secret"), ("dist/assets/a.js", "1+1")):
                with open(os.path.join(top, path), "w", encoding="utf-8") as file:
                    file.write(text)
            os.symlink("../../secret.js", os.path.join(folder, "assets/link.js"))
            with harness.Server("-server.web-dir=" + folder) as server:
                self.assertEqual(server.get("/ui/").body, b'<base href="/ui/">one')
                asset = server.get("/ui/assets/a.js", headers=PACKED)
                self.assertEqual((asset.status, asset.body, asset.headers["Content-Encoding"]), (200, b"1+1", None))
                # what is changed is served changed; nothing outside of the folder is, and nothing but files
                with open(os.path.join(folder, "assets/a.js"), "w", encoding="utf-8") as file:
                    file.write("2+2")
                self.assertEqual(server.get("/ui/assets/a.js", headers={"If-None-Match": asset.headers["ETag"]}).body, b"2+2")
                for path in ("assets/link.js", "assets/../../secret.js", "assets/..%2f..%2fsecret.js", "assets/deep.js", "assets/a.js%00"):
                    self.assertEqual(server.get("/ui/" + path).status, 404, path)


if __name__ == "__main__":
    harness.main()

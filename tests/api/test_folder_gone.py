"""A store's folder that is removed, moved or replaced under the server: no write is answered 200 that nobody would find again."""
import os
import shutil
import sqlite3
import time
import unittest

import harness

TYPE = "memory:alloc_space:bytes::"


class FolderGone(unittest.TestCase):
    def send(self, server, name):
        return server.ingest("gone.alloc_space", ("%s;leaf 1\n" % name).encode())

    def found(self, server):
        now_ms = int(time.time() * 1000)
        return {stack.split(";")[0] for stack in server.totals(TYPE, '{service_name="gone"}', now_ms - 600000, now_ms + 2000)}

    def refused(self, server):
        answer = self.send(server, "lost")
        self.assertEqual(answer.status, 500, answer)
        return answer

    def test_a_removed_folder_takes_no_writes(self):
        with harness.Server() as server:
            self.assertEqual(self.send(server, "first").status, 200)
            shutil.rmtree(server.store)
            answer = self.refused(server)
            self.assertIn("store folder %s was removed or moved while in use" % server.store, answer.text)
            push = server.push(({"__name__": "memory", "service_name": "gone"}, [harness.pprof(
                {"main;leaf": 1}, sample_types=["alloc_space/bytes"], time_nanos=time.time_ns())]))
            self.assertEqual(push.status, 500, push)
            self.assertIn("was removed or moved while in use", server.log_text())
            self.assertFalse(os.path.exists(server.store))  # nothing begins anew behind the owner's back

    def test_a_folder_that_comes_back_takes_writes_again(self):
        with harness.Server() as server:
            self.assertEqual(self.send(server, "first").status, 200)
            os.rename(server.store, server.store + ".away")
            self.refused(server)
            os.rename(server.store + ".away", server.store)
            self.assertEqual(self.send(server, "second").status, 200)
            self.assertEqual(self.found(server), {"first", "second"})

    def test_another_store_in_its_place_is_left_alone(self):
        with harness.Server() as server:
            self.assertEqual(self.send(server, "first").status, 200)
            os.rename(server.store, server.store + ".away")
            with harness.Server(store=server.store) as other:
                self.assertEqual(self.send(other, "other").status, 200)
                self.assertIn("is another file", self.refused(server).text)
                self.assertEqual(server.stop(), 0)
                self.assertEqual(self.send(other, "later").status, 200)
                self.assertEqual(self.found(other), {"other", "later"})

    def test_a_window_whose_file_is_gone_begins_anew(self):
        with harness.Server() as server:
            self.assertEqual(self.send(server, "first").status, 200)
            tenants = os.path.join(server.store, "tenants")
            for tenant in os.listdir(tenants):
                for file in os.listdir(os.path.join(tenants, tenant)):
                    os.unlink(os.path.join(tenants, tenant, file))
            self.assertEqual(self.send(server, "second").status, 200)
            self.assertEqual(self.found(server), {"second"})
            self.assertIn("is gone; the rest is served", server.log_text())
            self.assertEqual(server.stop(), 0)
            server.start()
            self.assertEqual(self.found(server), {"second"})  # in a file that has a name
            for folder, _, files in os.walk(tenants):
                for file in files:
                    if file.endswith(".db"):
                        with sqlite3.connect(os.path.join(folder, file)) as database:
                            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))

    def test_folders_of_tenants_that_are_gone_begin_anew(self):
        with harness.Server() as server:
            tenants = os.path.join(server.store, "tenants")
            self.assertEqual(self.send(server, "first").status, 200)
            shutil.rmtree(tenants)
            self.assertEqual(self.send(server, "second").status, 200)
            self.assertEqual(self.found(server), {"second"})
            shutil.rmtree(os.path.join(tenants, "anonymous"))
            self.assertEqual(self.send(server, "third").status, 200)
            shutil.rmtree(tenants)
            self.assertEqual(self.setting(server, "theme", "dark").status, 200)
            self.assertEqual(self.send(server, "fourth").status, 200)
            self.assertEqual(server.stop(), 0)
            server.start()
            self.assertEqual(self.found(server), {"fourth"})

    def test_a_removed_folder_takes_no_settings(self):
        with harness.Server() as server:
            self.assertEqual(self.setting(server, "theme", "dark").status, 200)
            shutil.rmtree(server.store)
            self.assertEqual(self.setting(server, "theme", "light").status, 500)
            self.assertFalse(os.path.exists(server.store))

    def setting(self, server, name, value):
        return server.rpc("Set", {"setting": {"name": name, "value": value}}, service="settings.v1.SettingsService")


if __name__ == "__main__":
    harness.main()

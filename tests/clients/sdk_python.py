"""A program with two functions that burn CPU, profiled by pyroscope-io."""
import json
import os
import time

import pyroscope


def light(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def heavy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def measure(function, seconds):
    cpu, wall = time.process_time(), time.monotonic()
    function(seconds)
    return {"cpu": time.process_time() - cpu, "wall": time.monotonic() - wall}


pyroscope.configure(application_name="sdk-python", server_address=os.environ["SERVER"], tags={"env": "test"})
measured = {"light": measure(light, 1), "heavy": measure(heavy, 3)}
pyroscope.shutdown()
print(json.dumps(measured))

"""LangGraph's SqliteStore in process: what many would pick instead of a memory server.

Usage: sqlite_store.py FILE ITEMS CALLERS SECONDS. Prints `name figure` lines: writes and exact reads a second of so many
threads, and the middle time of a search by vectors in milliseconds where this Python's sqlite3 can load the extension
that it needs.
"""

import random
import sqlite3
import statistics
import sys
import threading
import time

from langgraph.store.sqlite import SqliteStore

WORDS = (
    "anchor basil canyon compiler copper deadline falcon glacier harbour invoice kernel lantern marble monsoon "
    "orchid paprika quartz release saffron schedule telescope tuesday walnut zeppelin"
).split()
PLACES = 64


def embed(texts):
    """A vector a text: how often each word comes, by a hash; as cheap as vectors can be."""
    found = []
    for text in texts:
        vector = [0.0] * PLACES
        for word in text.split():
            vector[hash(word) % PLACES] += 1.0
        found.append(vector)
    return found


def rate(callers, seconds, work):
    """Calls a second of so many threads."""
    done = [0] * callers
    end = time.monotonic() + seconds

    def run(me):
        while time.monotonic() < end:
            work(me, done[me])
            done[me] += 1

    threads = [threading.Thread(target=run, args=(me,)) for me in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / seconds


def main(file, items, callers, seconds):
    random.seed(1)
    connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    index = {"dims": PLACES, "embed": embed, "fields": ["text"]}
    searches = hasattr(connection, "enable_load_extension")
    store = SqliteStore(connection, index=index if searches else None)
    store.setup()
    space = ("bench",)
    for number in range(items):
        store.put(space, f"k{number}", {"text": " ".join(random.choices(WORDS, k=12))})
    print("reads", rate(callers, seconds, lambda me, n: store.get(space, f"k{(me * 7919 + n) % items}")))
    times = []
    for _ in range(200 if searches else 0):
        began = time.perf_counter()
        store.search(space, query=" ".join(random.choices(WORDS, k=3)), limit=10)
        times.append((time.perf_counter() - began) * 1000)
    if times:
        print("search", statistics.median(times))
    print("writes", rate(callers, seconds, lambda me, n: store.put(space, f"w{me}-{n}", {"text": "a note of its own"})))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))

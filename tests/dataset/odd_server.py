"""A local HTTP server that misbehaves as it is told, file by file."""

import gzip
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class OddServer:
    """Serves `files` (path -> bytes); `oddities` (path -> function of a Turn) come instead.

    `requests` lists (method, path, headers) of all that was asked.
    """

    def __init__(self):
        self.files, self.oddities, self.requests = {}, {}, []
        self.counts, self.closing = defaultdict(int), threading.Event()
        self.busy, self.most_busy, self._lock = 0, 0, threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._http.server_port}/"

    def close(self):
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def asked(self, path):
        """The headers of every GET of one path."""
        return [headers for method, where, headers in self.requests if (method, where) == ("GET", path)]

    def _handler(server):  # noqa: N805 - self is the handler's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server._enter(self)
                try:
                    turn = Turn(server, self)
                    server.oddities.get(self.path, Turn.as_asked)(turn)
                except OSError:
                    self.close_connection = True
                finally:
                    server._leave()

            def do_HEAD(self):
                server._enter(self)
                body = server.files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                server._leave()

            def log_message(self, *_):
                pass

        return Handler

    def _enter(self, handler):
        with self._lock:
            self.requests.append((handler.command, handler.path, dict(handler.headers)))
            self.counts[handler.path] += handler.command == "GET"
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)

    def _leave(self):
        with self._lock:
            self.busy -= 1


class Turn:
    """One request, and what can be done to it."""

    def __init__(self, server, handler):
        self.server, self.handler = server, handler
        self.body = server.files.get(handler.path, b"")
        self.number = server.counts[handler.path]  # the how-manieth request for this path, from 1

    def as_asked(self, **changed):
        if not self.body:
            self.status(404)
            return
        self.begin(200, {"Content-Length": len(self.body), "Content-Type": "image/jpeg"} | changed)
        self.send(self.body)

    def begin(self, code, headers):
        self.handler.send_response(code)
        for name, value in headers.items():
            if value is not None:
                self.handler.send_header(name, str(value))
        self.handler.end_headers()

    def send(self, raw):
        self.handler.wfile.write(raw)
        self.handler.wfile.flush()

    def hang_up(self):
        self.handler.close_connection = True

    def status(self, code, **headers):
        self.begin(code, {"Content-Length": 0} | {k.replace("_", "-"): v for k, v in headers.items()})

    def whole(self, body, **headers):
        """Another body than that of the file."""
        self.begin(200, {"Content-Length": len(body)} | {k.replace("_", "-"): v for k, v in headers.items()})
        self.send(body)

    def wait(self, seconds):
        """Do nothing, unless the server closes."""
        self.server.closing.wait(seconds)


def once(oddity):
    """Misbehave at the first request only."""
    return lambda turn: oddity(turn) if turn.number == 1 else turn.as_asked()


# --- what servers do ---


def drops_mid_body(turn):
    turn.begin(200, {"Content-Length": len(turn.body)})
    turn.send(turn.body[: len(turn.body) // 2])
    turn.hang_up()


def drops_without_length(turn):
    """Who cannot know that half is missing must see it in the file."""
    turn.begin(200, {"Connection": "close"})
    turn.send(turn.body[: len(turn.body) // 2])
    turn.hang_up()


def hangs_up_at_once(turn):
    turn.hang_up()
    turn.handler.connection.close()


def claims_more(turn):
    turn.begin(200, {"Content-Length": len(turn.body) + 1000})
    turn.send(turn.body)
    turn.hang_up()


def claims_less(turn):
    turn.begin(200, {"Content-Length": len(turn.body) - 100})
    turn.send(turn.body)
    turn.hang_up()


def not_found(turn):
    turn.status(404)


def gone(turn):
    turn.status(410)


def forbidden(turn):
    turn.status(403)


def too_many_with_seconds(turn):
    turn.status(429, Retry_After="0")


def too_many_with_a_date(turn):
    turn.status(429, Retry_After="Sat, 01 Jan 2000 00:00:00 GMT")


def too_many(turn):
    turn.status(429)


def too_many_in_words(turn):
    turn.status(429, Retry_After="soon")


def broken(turn):
    turn.status(500)


def unavailable(turn):
    turn.status(503, Retry_After="0")


def redirects_in_a_loop(turn):
    turn.status(302, Location=turn.handler.path)


def redirects_to_nowhere(turn):
    turn.status(302, Location="ftp://127.0.0.1/x")


def redirects_once(turn):
    turn.status(301, Location=turn.handler.path + "?moved")


def page_for_image(turn):
    turn.whole(b"<!DOCTYPE html><html><body>Not now</body></html>", Content_Type="text/html")


def empty_body(turn):
    turn.whole(b"")


def cut_image(turn):
    turn.whole(turn.body[: len(turn.body) * 2 // 3], Content_Type="image/jpeg")


def stalls(turn):
    turn.begin(200, {"Content-Length": len(turn.body)})
    turn.send(turn.body[:100])
    turn.wait(5)
    turn.hang_up()


def never_answers(turn):
    turn.wait(5)
    turn.hang_up()


def drips(turn, n_drops=24):
    """Ever a few bytes, fast enough to be no stall."""
    turn.begin(200, {"Content-Length": len(turn.body)})
    step = len(turn.body) // n_drops
    for at in range(0, len(turn.body), step):
        turn.send(turn.body[at : at + step])
        turn.wait(0.05)


def drips_for_ever(turn):
    drips(turn, n_drops=1000)


def sends_a_part(turn):
    """Of its own accord, and from another byte than the first."""
    size = len(turn.body)
    turn.begin(206, {"Content-Length": size - 7, "Content-Range": f"bytes 7-{size - 1}/{size}"})
    turn.send(turn.body[7:])


def has_no_such_range(turn):
    turn.status(416)


def drops_and_has_another_version(turn):
    """The half that came is of an older file."""
    turn.begin(200, {"Content-Length": len(turn.body)})
    turn.send(bytes(len(turn.body) // 2))
    turn.hang_up()


def drops_what_was_longer(turn):
    turn.begin(200, {"Content-Length": 2 * len(turn.body)})
    turn.send(turn.body + turn.body[: len(turn.body) // 2])
    turn.hang_up()


def packs_unasked(turn):
    turn.whole(gzip.compress(turn.body), Content_Encoding="gzip")


def packs_badly(turn):
    turn.whole(turn.body, Content_Encoding="gzip")


def says_another_type(turn):
    turn.as_asked(**{"Content-Type": "application/octet-stream"})


def sends_another_kind(turn):
    turn.whole(b"%PDF-1.4 " + turn.body, Content_Type="image/jpeg")


def claims_a_giant(turn):
    turn.begin(200, {"Content-Length": 10**12})
    turn.hang_up()


def has_no_end(turn):
    """Chunks without a length."""
    turn.begin(200, {"Transfer-Encoding": "chunked"})
    block = bytes(1 << 20)
    while not turn.server.closing.is_set():
        turn.send(b"%x\r\n%s\r\n" % (len(block), block))


def ends_chunks_early(turn):
    turn.begin(200, {"Transfer-Encoding": "chunked"})
    half = turn.body[: len(turn.body) // 2]
    turn.send(b"%x\r\n%s\r\n" % (len(half), half))
    turn.hang_up()


def answers_no_http(turn):
    turn.send(b"220 hello\r\n" * 5)
    turn.hang_up()


def wakes_up_slowly(turn):
    time.sleep(0.05)
    turn.as_asked()

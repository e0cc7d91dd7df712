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

    def status(self, code, body=b"", **headers):
        """A code, and another body than that of the file."""
        self.begin(code, {"Content-Length": len(body)} | {k.replace("_", "-"): v for k, v in headers.items()})
        self.send(body)

    def part(self, size, *, of=None, **headers):
        """The first bytes of the file, and the connection ends; the length is said as `of`, or not at all."""
        self.begin(200, {"Content-Length": of} | headers)
        self.send(self.body[:size])
        self.hang_up()

    def wait(self, seconds):
        """Do nothing, unless the server closes."""
        self.server.closing.wait(seconds)


def once(oddity):
    """Misbehave at the first request only."""
    return lambda turn: oddity(turn) if turn.number == 1 else turn.as_asked()


# --- what servers do ---


def answers(code, **headers):
    """Nothing but a code."""
    return lambda turn: turn.status(code, **headers)


def sends(body_of, **headers):
    """Another body, made of the right one, as if nothing were wrong."""
    return lambda turn: turn.status(200, body_of(turn.body), **headers)


def half(body):
    return body[: len(body) // 2]


page_for_image = sends(
    lambda body: b"<!DOCTYPE html><html><body>Not now</body></html>", Content_Type="text/html"
)
empty_body = sends(lambda body: b"")
cut_image = sends(lambda body: body[: len(body) * 2 // 3], Content_Type="image/jpeg")
packs_unasked = sends(gzip.compress, Content_Encoding="gzip")
packs_badly = sends(bytes, Content_Encoding="gzip")
sends_another_kind = sends(lambda body: b"%PDF-1.4 " + body, Content_Type="image/jpeg")


def drops_mid_body(turn):
    turn.part(len(turn.body) // 2, of=len(turn.body))


def drops_without_length(turn):
    """Who cannot know that half is missing must see it in the file."""
    turn.part(len(turn.body) // 2, Connection="close")


def claims_more(turn):
    turn.part(len(turn.body), of=len(turn.body) + 1000)


def claims_less(turn):
    turn.part(len(turn.body), of=len(turn.body) - 100)


def drops_and_has_another_version(turn):
    """The half that came is of an older file."""
    turn.body = bytes(len(turn.body))
    drops_mid_body(turn)


def drops_what_was_longer(turn):
    turn.body += turn.body
    turn.part(len(turn.body) * 3 // 4, of=len(turn.body))


def hangs_up_at_once(turn):
    turn.hang_up()
    turn.handler.connection.close()


def redirects_in_a_loop(turn):
    turn.status(302, Location=turn.handler.path)


def redirects_once(turn):
    turn.status(301, Location=turn.handler.path + "?moved")


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
    turn.status(206, turn.body[7:], Content_Range=f"bytes 7-{size - 1}/{size}")


def says_another_type(turn):
    turn.as_asked(**{"Content-Type": "application/octet-stream"})


def claims_a_giant(turn):
    turn.part(0, of=10**12)


def has_no_end(turn):
    """Chunks without a length."""
    turn.begin(200, {"Transfer-Encoding": "chunked"})
    block = bytes(1 << 20)
    while not turn.server.closing.is_set():
        turn.send(b"%x\r\n%s\r\n" % (len(block), block))


def ends_chunks_early(turn):
    turn.begin(200, {"Transfer-Encoding": "chunked"})
    body = half(turn.body)
    turn.send(b"%x\r\n%s\r\n" % (len(body), body))
    turn.hang_up()


def answers_no_http(turn):
    turn.send(b"220 hello\r\n" * 5)
    turn.hang_up()


def wakes_up_slowly(turn):
    time.sleep(0.05)
    turn.as_asked()


HEALED = [  # after some tries the file is there, and right
    *map(once, (drops_mid_body, drops_without_length, drops_and_has_another_version, drops_what_was_longer)),
    *map(once, (claims_more, claims_less, hangs_up_at_once, ends_chunks_early, answers_no_http)),
    *map(once, (answers(429, Retry_After="0"), answers(429, Retry_After="Sat, 01 Jan 2000 00:00:00 GMT"))),
    *map(once, (answers(429), answers(429, Retry_After="soon"), answers(500), answers(503, Retry_After="0"))),
    *map(once, (page_for_image, empty_body, cut_image, packs_badly, sends_a_part)),
    *map(once, (stalls, never_answers, redirects_once)),
    drips,
    packs_unasked,
    says_another_type,
    wakes_up_slowly,
]
HOPELESS = [  # the file cannot be had; the reason says
    (answers(404), "answer 404"),
    (answers(410), "answer 410"),
    (answers(403), "answer 403"),
    (answers(416), "answer 416"),
    (answers(500), "answer 500"),
    (answers(429, Retry_After="0"), "answer 429"),
    (redirects_in_a_loop, "redirected"),
    (answers(302, Location="ftp://127.0.0.1/x"), "redirected"),
    (page_for_image, "a web page"),
    (empty_body, "empty"),
    (cut_image, "damaged image"),
    (sends_another_kind, "not an image"),
    (claims_a_giant, "more than"),
    (has_no_end, "more than"),
    (claims_more, "connection broke"),
    (claims_less, "damaged image"),
    (packs_badly, "connection broke"),
    (answers_no_http, "connection broke"),
    (drips_for_ever, "too slow"),
    (sends_a_part, "a part of the file"),
]

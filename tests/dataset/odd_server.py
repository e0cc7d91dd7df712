"""A local HTTP server that misbehaves as it is told, file by file."""

import gzip
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.processes import LIMIT_S


class OddServer:
    """Serves `files` (path -> bytes); `oddities` (path -> function of a Turn) come instead.

    `requests` lists (method, path, headers) of all that was asked.
    """

    def __init__(self):
        self.files, self.oddities, self.requests = {}, {}, []
        self.counts, self.closing = defaultdict(int), threading.Event()
        self.busy, self.most_busy, self._changed = 0, 0, threading.Condition()
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

    def wait_until_asked(self, *paths):
        """Return when each of them was."""
        with self._changed:
            assert self._changed.wait_for(lambda: all(map(self.asked, paths)), timeout=LIMIT_S)

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

            def log_message(self, *_):
                pass

        return Handler

    def _enter(self, handler):
        with self._changed:
            self.requests.append((handler.command, handler.path, dict(handler.headers)))
            self.counts[handler.path] += handler.command == "GET"
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
            self._changed.notify_all()

    def _leave(self):
        with self._changed:
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
                self.handler.send_header(name.replace("_", "-"), str(value))
        self.handler.end_headers()

    def send(self, raw):
        self.handler.wfile.write(raw)
        self.handler.wfile.flush()

    def hang_up(self):
        self.handler.close_connection = True

    def status(self, code, **headers):
        """A code without a body."""
        self.begin(code, {"Content-Length": 0} | headers)

    def wait(self, seconds):
        """Do nothing, unless the server closes."""
        self.server.closing.wait(seconds)


# --- what servers do ---


def first(*oddities):
    """Misbehave in one way after the other, and no more."""
    return lambda turn: dict(enumerate(oddities, 1)).get(turn.number, Turn.as_asked)(turn)


def answers(code, **headers):
    """Nothing but a code."""
    return lambda turn: turn.status(code, **headers)


def sends(body_of=bytes, *, share=1.0, said=1.0, stalls_s=0, code=200, **headers):
    """A share of a body, made of the right one, and the connection ends, perhaps after a while.

    Its length is said as a multiple of what it is, or not at all if `said` is None.
    """

    def oddity(turn):
        body = body_of(turn.body)
        turn.begin(code, {"Content_Length": said and int(said * len(body))} | headers)
        turn.send(body[: int(share * len(body))])
        turn.wait(stalls_s)
        turn.hang_up()

    return oddity


def drips(n_drops):
    """Ever a few bytes, fast enough to be no stall."""

    def oddity(turn):
        turn.begin(200, {"Content-Length": len(turn.body)})
        step = len(turn.body) // n_drops
        for at in range(0, len(turn.body), step):
            turn.send(turn.body[at : at + step])
            turn.wait(0.05)

    return oddity


def never_answers(turn):
    turn.wait(5)
    turn.hang_up()


def hangs_up_at_once(turn):
    turn.hang_up()
    turn.handler.connection.close()


def redirects_in_a_loop(turn):
    turn.status(302, Location=turn.handler.path)


def redirects_once(turn):
    turn.status(301, Location=turn.handler.path + "?moved")


def answers_no_http(turn):
    turn.send(b"220 hello\r\n" * 5)
    turn.hang_up()


def one_chunk(body):
    return b"%x\r\n%s\r\n" % (len(body) // 2, body[: len(body) // 2])


page_for_image = sends(lambda body: b"<!DOCTYPE html><html>Not now</html>", Content_Type="text/html")
empty_body = sends(lambda body: b"")
cut_image = sends(lambda body: body[: len(body) * 2 // 3], Content_Type="image/jpeg")
packs_badly = sends(lambda body: bytes(len(body)), Content_Encoding="gzip")
drops_mid_body = sends(share=0.5)
stalls = sends(share=0.1, stalls_s=5)
claims_more = sends(said=1.2)
claims_less = sends(said=0.98)
sends_a_part = sends(lambda body: body[7:], code=206, Content_Range="bytes 7-4000/4001")

HEALED = [  # after some tries the file is there, and right
    *map(first, (drops_mid_body, stalls, never_answers, answers_no_http, redirects_once)),
    *map(first, (claims_more, claims_less, page_for_image, empty_body, cut_image, packs_badly, sends_a_part)),
    first(sends(share=0.5, said=None, Connection="close")),  # that half is missing is seen in the file only
    first(sends(lambda body: bytes(len(body)), share=0.5)),  # the half that came is of an older file
    first(sends(lambda body: body + body, share=0.75)),
    first(sends(one_chunk, said=None, Transfer_Encoding="chunked")),  # and no other
    first(hangs_up_at_once, cut_image),  # what was no answer does not count as a wrong one
    *map(first, (answers(429), answers(500), answers(503, Retry_After="0"))),
    *(first(answers(429, Retry_After=when)) for when in ("0", "soon", "Sat, 01 Jan 2000 00:00:00 GMT")),
    drips(24),
    sends(gzip.compress, Content_Encoding="gzip"),
    sends(Content_Type="application/octet-stream"),
]
HOPELESS = [  # the file cannot be had; the reason says
    *((answers(code), f"answer {code}") for code in (404, 410, 403, 416, 500)),
    (answers(429, Retry_After="0"), "answer 429"),
    (redirects_in_a_loop, "redirected"),
    (answers(302, Location="ftp://127.0.0.1/x"), "redirected"),
    (page_for_image, "a web page"),
    (empty_body, "empty"),
    (cut_image, "damaged image"),
    (sends(lambda body: b"%PDF-1.4 " + body, Content_Type="image/jpeg"), "not an image"),
    (sends(share=0, said=1e9), "more than"),
    (sends(lambda body: body * 1000, said=None, Connection="close"), "more than"),
    (claims_more, "connection broke"),
    (claims_less, "damaged image"),
    (packs_badly, "connection broke"),
    (answers_no_http, "connection broke"),
    (drips(1000), "too slow"),
    (sends_a_part, "a part of the file"),
]

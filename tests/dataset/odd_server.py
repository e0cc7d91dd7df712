"""A local HTTP server that misbehaves as it is told, file by file."""

import gzip
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.processes import LIMIT_S


class OddServer:
    """HTTP server with `files` (path -> bytes), and `oddities` (path -> function of a Turn) that come first.

    `requests` lists (method, path, headers) of all requests.
    """

    def __init__(self):
        self.files, self.oddities, self.requests = {}, {}, []
        self.counts, self.closing = defaultdict(int), threading.Event()
        self._changed = threading.Condition()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Turn)
        self._http.odd = self
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
        """Return the headers of every GET of one path."""
        return [headers for method, where, headers in self.requests if (method, where) == ("GET", path)]

    def wait_until_asked(self, *paths):
        """Return when each path was asked for."""
        with self._changed:
            assert self._changed.wait_for(lambda: all(map(self.asked, paths)), timeout=LIMIT_S)

    def note(self, turn):
        """Note a request."""
        with self._changed:
            self.requests.append((turn.command, turn.path, dict(turn.headers)))
            self.counts[turn.path] += turn.command == "GET"
            self._changed.notify_all()


class Turn(BaseHTTPRequestHandler):
    """One request, with possible answers."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        odd = self.server.odd
        odd.note(self)
        self.body = odd.files.get(self.path, b"")
        self.number = odd.counts[self.path]  # of requests for this path, from 1
        try:
            odd.oddities.get(self.path, Turn.as_asked)(self)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass

    def as_asked(self):
        if not self.body:
            self.status(404)
            return
        self.begin(200, {"Content-Length": len(self.body), "Content-Type": "image/jpeg"})
        self.send(self.body)

    def begin(self, code, headers):
        self.send_response(code)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def send(self, raw):
        self.wfile.write(raw)
        self.wfile.flush()

    def hang_up(self):
        self.close_connection = True

    def status(self, code, **headers):
        """Send a code without a body."""
        self.begin(code, {"Content_Length": 0} | headers)

    def wait(self, seconds):
        """Do nothing, unless the server closes."""
        self.server.odd.closing.wait(seconds)


# --- what servers do ---


def first(*oddities):
    """Misbehave in one way after the other, and then behave."""
    return lambda turn: dict(enumerate(oddities, 1)).get(turn.number, Turn.as_asked)(turn)


def answers(code, **headers):
    """Send nothing but a code."""
    return lambda turn: turn.status(code, **headers)


def sends(body_of=bytes, *, share=1.0, said=1.0, stalls_s=0, code=200, **headers):
    """Send a share of a body that is made of the right one, and end the connection, perhaps after a while.

    The length is announced as a multiple of the true one, or not at all if `said` is None.
    """

    def oddity(turn):
        body = body_of(turn.body)
        turn.begin(code, {"Content_Length": said and int(said * len(body))} | headers)
        turn.send(body[: int(share * len(body))])
        turn.wait(stalls_s)
        turn.hang_up()

    return oddity


def never_answers(turn):
    turn.wait(5)
    turn.hang_up()


def hangs_up_at_once(turn):
    turn.hang_up()
    turn.connection.close()


def redirects_in_a_loop(turn):
    turn.status(302, Location=turn.path)


def redirects_once(turn):
    turn.status(301, Location=turn.path + "?moved")


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
    sends(gzip.compress, Content_Encoding="gzip"),
    sends(Content_Type="application/octet-stream"),
]
HOPELESS = [  # the file cannot be had; the reason says
    *((answers(code), f"answer {code}") for code in (404, 410, 403, 416, 500)),
    (answers(429, Retry_After="0"), "answer 429 Too Many Requests"),
    (redirects_in_a_loop, "redirected"),
    (answers(302, Location="ftp://127.0.0.1/x"), "redirected"),
    (page_for_image, "a web page"),
    (empty_body, "empty"),
    (cut_image, "damaged image"),
    (sends(lambda body: b"%PDF-1.4 " + body, Content_Type="image/jpeg"), "not an image"),
    (sends(share=0, said=1e9), "larger than"),
    (sends(lambda body: body * 1000, said=None, Connection="close"), "larger than"),
    (claims_more, "connection broke"),
    (claims_less, "damaged image"),
    (packs_badly, "connection broke"),
    (answers_no_http, "connection broke"),
    (sends_a_part, "answer 206 Partial Content"),
]

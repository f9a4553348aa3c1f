"""Runs one HTTP/3 transfer with aioquic and prints its digest. The exit code reports any error."""

import argparse
import asyncio
import hashlib
import ssl
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated

HOST = "bench.localhost"


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.http = H3Connection(self._quic)
        self.body = bytearray()
        self.status = None
        self.ended = asyncio.get_running_loop().create_future()

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated) and not self.ended.done():
            self.ended.set_exception(ConnectionError(event.reason_phrase))
        for http in self.http.handle_event(event):
            if isinstance(http, HeadersReceived):
                self.status = dict(http.headers).get(b":status")
            if isinstance(http, DataReceived):
                self.body += http.data
            if http.stream_ended and not self.ended.done():
                self.ended.set_result(None)

    async def ask(self, method, path, body):
        stream = self._quic.get_next_available_stream_id()
        fields = [(":method", method), (":scheme", "https"), (":authority", HOST), (":path", path)]
        if body:
            fields.append(("content-length", str(len(body))))
        head = [(name.encode(), value.encode()) for name, value in fields]
        self.http.send_headers(stream, head, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.transmit()
        await self.ended
        if self.status != b"200":
            raise ConnectionError(f"status {self.status}")
        return bytes(self.body)


async def main():
    parser = argparse.ArgumentParser()
    for name in ["port", "bytes", "connection-window", "stream-window"]:
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--ca", required=True)
    parser.add_argument("--upload", help="file to send instead of asking for bytes")
    asked = parser.parse_args()
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=HOST)
    configuration.verify_mode = ssl.CERT_REQUIRED
    configuration.load_verify_locations(asked.ca)
    if asked.connection_window:
        configuration.max_data = asked.connection_window
        configuration.max_stream_data = asked.stream_window
    async with connect("127.0.0.1", asked.port, configuration=configuration, create_protocol=Client) as client:
        if asked.upload is None:
            body = await client.ask("GET", f"/bytes/{asked.bytes}", b"")
            print(hashlib.sha256(body).hexdigest())
        else:
            with open(asked.upload, "rb") as file:
                print((await client.ask("PUT", "/digest", file.read())).decode())


try:
    asyncio.run(main())
except (ConnectionError, OSError) as error:
    sys.exit(str(error))

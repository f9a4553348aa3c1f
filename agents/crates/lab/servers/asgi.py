# App of the benchmark lab for Uvicorn: a process per core. Placeholders between at signs come from the lab.
import asyncio

BODY = b"x" * @RESPONSE_BYTES@
DELAY_S = @RESPONSE_DELAY_MS@ / 1000
HEAD = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/plain"), (b"content-length", str(len(BODY)).encode())],
}


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    if DELAY_S:
        await asyncio.sleep(DELAY_S)
    await send(HEAD)
    await send({"type": "http.response.body", "body": BODY})

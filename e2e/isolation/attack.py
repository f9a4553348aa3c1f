"""Hostile program of the isolation check: makes one attempt and prints one JSON line about it.

Runs unchanged inside an app, a build and a container, as a plain process for the positive control, and outside the server.
`got` is what the attempt brought back, `stopped` is the error that ended it. Everything else is a fault of the check.
"""

import ctypes
import errno
import json
import os
import platform
import socket
import struct
import sys
import time

TIMEOUT = 1.5
LIMIT = 4096
AT_ONCE = 10
LIBC = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
IP_FREEBIND, IP_TRANSPARENT, IPV6_FREEBIND, IPV6_TRANSPARENT = 15, 19, 78, 75
IPPROTO_MPTCP = 262
MSG_FASTOPEN = 0x20000000
NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_NETFILTER = 0, 4, 12
RTM_NEWADDR, RTM_NEWROUTE, SOCK_DIAG_BY_FAMILY = 20, 24, 20
NLM_REQUEST, NLM_ACK, NLM_DUMP, NLM_CREATE = 1, 4, 0x300, 0x400


class Stopped(Exception):
    """Failure of an attempt for a reason that is not a system error."""


def family_of(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def address_of(host, port):
    return socket.getaddrinfo(host, port, family_of(host), socket.SOCK_DGRAM, 0, socket.AI_NUMERICHOST)[0][4]


def read_some(connection):
    """Reads until the peer closes, a timeout passes, or enough bytes have arrived."""
    text = b""
    try:
        while len(text) < LIMIT:
            chunk = connection.recv(LIMIT)
            if not chunk:
                break
            text += chunk
    except TimeoutError:
        if not text:
            raise
    return text.decode("latin-1")


def open_socket(host, kind, protocol=0):
    made = socket.socket(family_of(host), kind, protocol)
    made.settimeout(TIMEOUT)
    return made


def tcp(host, port, send="GET / HTTP/1.0\r\n\r\n", protocol=0, raw=None):
    """Connects, sends and reads."""
    with open_socket(host, socket.SOCK_STREAM, protocol) as connection:
        connection.connect(address_of(host, port))
        connection.sendall(bytes.fromhex(raw) if raw is not None else send.encode())
        return read_some(connection)


def mptcp(host, port):
    return tcp(host, port, protocol=IPPROTO_MPTCP)


def https(host, port, name, header):
    """Sends a request for a host name through the proxy, or without a name to a plain HTTP server."""
    request = "GET / HTTP/1.1\r\nHost: %s\r\n%s\r\nConnection: close\r\n\r\n" % (name or host, header)
    if not name:
        return tcp(host, port, send=request)
    import ssl  # Slow to load, and few attempts need it.

    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    with open_socket(host, socket.SOCK_STREAM) as connection:
        connection.connect(address_of(host, port))
        with trusting.wrap_socket(connection, server_hostname=name) as secured:
            secured.sendall(request.encode())
            return read_some(secured)


def fast_open(host, port):
    """Connects with sendto(2), which bypasses filters of connect(2)."""
    with open_socket(host, socket.SOCK_STREAM) as connection:
        request = b"GET / HTTP/1.0\r\n\r\n"
        # Blocking, because a non-blocking socket returns EINPROGRESS too early.
        connection.settimeout(None)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", 1, 500_000))
        connection.sendto(request, MSG_FASTOPEN, address_of(host, port))
        connection.settimeout(TIMEOUT)
        return read_some(connection)


def udp(host, port, send="hello"):
    with open_socket(host, socket.SOCK_DGRAM) as connection:
        # Connected, so that the socket reports a refusal.
        connection.connect(address_of(host, port))
        connection.send(send.encode())
        return connection.recv(LIMIT).decode("latin-1")


def set_options(made, names):
    for name in names or ():
        if name == "transparent" and made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, IPV6_TRANSPARENT, 1)
        elif name == "transparent":
            made.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
        elif name == "freebind" and made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        elif name == "freebind":
            made.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        else:
            raise ValueError(name)


def tell(host, port, send, options=None, source=None, route=None):
    """Sends a datagram without waiting for an answer: the target records what arrived, and from which address."""
    with open_socket(host, socket.SOCK_DGRAM) as made:
        set_options(made, options)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        if source is not None:
            made.bind(address_of(source, 0))
        if route is not None:
            # Loose source route (RFC 791, section 3.1): to `route` first, to `host` from there (ip(7), IP_OPTIONS).
            made.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\x83\x07\x04" + socket.inet_aton(route) + b"\x00")
        made.sendto(send.encode(), address_of(host, port))
        # Refusals arrive a moment later.
        time.sleep(0.2)
        failed = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failed:
            raise OSError(failed, os.strerror(failed))
        return "sent"


def unix(path, send="GET / HTTP/1.0\r\n\r\n", kind="stream"):
    """Connects to a Unix socket: a path, or an abstract name with @. A connection counts as success."""
    name = "\0" + path[1:] if path.startswith("@") else path
    with socket.socket(socket.AF_UNIX, getattr(socket, "SOCK_" + kind.upper())) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect(name)
        connection.send(send.encode())
        try:
            return "connected " + connection.recv(LIMIT).decode("latin-1")
        except (TimeoutError, ConnectionError):
            return "connected"


def hand_over(path):
    """Requests a socket in its network from a shim, and connects it to the app there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect(path)
        connection.sendall(b"4\x01")
        message, descriptors, _, _ = socket.recv_fds(connection, 64, 16)
        if not descriptors:
            raise Stopped("no socket was handed over: " + message.hex())
        with socket.socket(fileno=descriptors[0]) as given:
            given.settimeout(TIMEOUT)
            given.connect(("127.0.0.1", 3000))
            given.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return read_some(given)


def hand_over_flood(path, count):
    """Holds many connections to a shim open at once."""
    held = []
    try:
        for _ in range(count):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(TIMEOUT)
            held.append(connection)
            connection.connect(path)
        return "held " + str(len(held))
    finally:
        for connection in held:
            connection.close()


def raw(host, protocol, payload):
    """Sends a forged packet: an ICMP redirect, a router advertisement or a spoofed datagram."""
    with open_socket(host, socket.SOCK_RAW, protocol) as made:
        made.sendto(bytes.fromhex(payload), address_of(host, 0))
        return "sent"


def packet(payload):
    """Sends a raw frame on every interface: ARP, or a packet with a spoofed source."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as made:
        for index, name in socket.if_nameindex():
            if name != "lo":
                made.sendto(bytes.fromhex(payload), (name, 0))
        return "sent"


def listen(host, port, token, seconds, options=None):
    """Binds a port before its owner does, and answers in its place."""
    with socket.socket(family_of(host), socket.SOCK_STREAM) as made:
        if options and "reuseport" in options:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int("dual" not in (options or ())))
        made.bind(address_of(host, port))
        made.listen(64)
        until = time.monotonic() + seconds
        answered = 0
        made.settimeout(0.2)
        while time.monotonic() < until:
            try:
                connection, _ = made.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(TIMEOUT)
                try:
                    connection.recv(LIMIT)
                    body = token.encode()
                    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
                    connection.sendall(head + body)
                    answered += 1
                except OSError:
                    pass
        return "answered " + str(answered)


def visit(host, port, seconds, kind="tcp"):
    """Sends traffic for attacks that wait for it, until the attacker answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if kind == "udp":
                with open_socket(host, socket.SOCK_DGRAM) as made:
                    made.sendto(b"visit", address_of(host, port))
            elif "thief" in tcp(host, port):
                return "thief"
        except OSError:
            pass
        time.sleep(0.1)
    return "nobody else"


def receive(port, seconds, host="0.0.0.0", options=None):
    """Binds a UDP port that receives traffic for others."""
    with socket.socket(family_of(host), socket.SOCK_DGRAM) as made:
        if options and "reuseport" in options:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.settimeout(seconds)
        made.bind(address_of(host, port))
        return made.recv(LIMIT).decode("latin-1")


def enter(pid):
    """Enters the network of another process (setns(2))."""
    descriptor = os.open("/proc/%d/ns/net" % pid, os.O_RDONLY)
    if LIBC.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "entered"


def root_of(pid):
    """Reads the network of another process through /proc."""
    with open("/proc/%d/net/tcp" % pid, encoding="ascii") as table:
        return table.read()


def unshare(flags):
    if LIBC.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "unshared"


def clone(flags):
    """Enters a network with clone(2), in a child that exits at once."""
    number = 56 if platform.machine() == "x86_64" else 220
    child = LIBC.syscall(number, ctypes.c_ulong(flags | 17), None, None, None, ctypes.c_ulong(0))
    if child == 0:
        os._exit(0)
    if child < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.waitpid(child, 0)
    return "cloned"


def netlink(protocol, kind, flags, payload):
    """Sends one netlink request and returns the answer; raises the kernel's error."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as made:
        made.settimeout(TIMEOUT)
        made.bind((0, 0))
        made.send(struct.pack("=IHHII", 16 + len(payload), kind, flags, 1, 0) + payload)
        answer = b""
        while True:
            part = made.recv(65536)
            answer += part
            sort = struct.unpack_from("=H", part, 4)[0]
            if sort == 2:
                code = -struct.unpack_from("=i", part, 16)[0]
                # EEXIST proves permission: the kernel checks rights first.
                if code not in (0, errno.EEXIST):
                    raise OSError(code, os.strerror(code))
                return answer
            if sort == 3:
                return answer


def attribute(kind, value):
    padded = value + b"\0" * (-len(value) % 4)
    return struct.pack("=HH", 4 + len(value), kind) + padded


def add_address(host):
    """Adds an address to an interface (RTM_NEWADDR)."""
    number = socket.inet_pton(family_of(host), host)
    bits = 8 * len(number)
    index = max(socket.if_nameindex())[0]
    head = struct.pack("=BBBBI", family_of(host), bits, 0x02, 0, index)
    netlink(NETLINK_ROUTE, RTM_NEWADDR, NLM_REQUEST | NLM_ACK | NLM_CREATE, head + attribute(2, number) + attribute(1, number))
    return "added"


def add_route(host):
    """Adds a route to an interface (RTM_NEWROUTE)."""
    number = socket.inet_pton(family_of(host), host)
    index = max(socket.if_nameindex())[0]
    head = struct.pack("=BBBBBBBBI", family_of(host), 8 * len(number), 0, 0, 254, 3, 253, 1, 0)
    body = attribute(1, number) + attribute(4, struct.pack("=I", index))
    netlink(NETLINK_ROUTE, RTM_NEWROUTE, NLM_REQUEST | NLM_ACK | NLM_CREATE, head + body)
    return "added"


def add_table(name):
    """Creates an nftables table in a batch."""
    message = lambda kind, flags, family, body: struct.pack("=IHHII", 20 + len(body), kind, flags, 1, 0) + struct.pack("!BBH", family, 0, 10 if kind in (16, 17) else 0) + body
    batch = message(16, NLM_REQUEST, 0, b"") + message(10 << 8, NLM_REQUEST | NLM_ACK | NLM_CREATE, 1, attribute(1, name.encode() + b"\0")) + message(17, NLM_REQUEST, 0, b"")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as made:
        made.settimeout(TIMEOUT)
        made.bind((0, 0))
        made.send(batch)
        code = -struct.unpack_from("=i", made.recv(65536), 16)[0]
        if code != 0:
            raise OSError(code, os.strerror(code))
        return "added"


def sockets(host):
    """Lists listening ports of all users with sock_diag(7)."""
    request = struct.pack("=BBBBI", family_of(host), socket.IPPROTO_TCP, 0, 0, 1 << 10) + b"\0" * 48
    answer = netlink(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_REQUEST | NLM_DUMP, request)
    ports, at = [], 0
    while at + 16 <= len(answer):
        length, kind = struct.unpack_from("=IH", answer, at)
        if kind == SOCK_DIAG_BY_FAMILY:
            ports.append(struct.unpack_from("!H", answer, at + 20)[0])
        at += max(length + (-length % 4), 16)
    return "ports " + " ".join(str(port) for port in sorted(ports)) + " end"


def table(name):
    """Lists listening ports from /proc."""
    with open("/proc/net/" + name, encoding="ascii") as lines:
        ports = [int(line.split()[1].rsplit(":", 1)[1], 16) for line in list(lines)[1:]]
    return "ports " + " ".join(str(port) for port in sorted(ports)) + " end"


def write_file(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return "written"


def resolver():
    with open("/etc/resolv.conf", encoding="ascii") as lines:
        return next(line.split()[1] for line in lines if line.startswith("nameserver"))


QUESTION = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x05check\x07example\x00\x00\x01\x00\x01"


def resolve():
    """Resolves a name with the system resolver."""
    with open_socket(resolver(), socket.SOCK_DGRAM) as made:
        made.connect(address_of(resolver(), 53))
        made.send(QUESTION)
        return "address " + ".".join(str(byte) for byte in made.recv(LIMIT)[-4:])


def resolver_flood(count):
    """Holds many connections to the resolver open at once, and sends a query on each."""
    held = []
    try:
        for _ in range(count):
            made = open_socket(resolver(), socket.SOCK_STREAM)
            held.append(made)
            made.connect(address_of(resolver(), 53))
            made.sendall(struct.pack("!H", len(QUESTION)) + QUESTION)
        time.sleep(1)
        return "held " + str(len(held))
    finally:
        for made in held:
            made.close()


def attempt(technique, args):
    try:
        return {"got": str(globals()[technique](**args))[:2000]}
    except Stopped as error:
        return {"stopped": str(error)}
    except (TimeoutError, BlockingIOError):
        return {"stopped": "no answer"}
    except OSError as error:
        return {"stopped": errno.errorcode.get(error.errno, str(error))}
    except Exception as error:  # noqa: BLE001 — a fault of this program must not look like a wall.
        return {"broken": repr(error)}


def attempt_apart(each):
    """Runs an attempt in a child process, because some attempts change their process. Returns the child and the pipe for its result."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        answer = json.dumps({"id": each["id"], **attempt(each["technique"], each["args"])})
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    return child, reader


def attempt_all(attempts):
    """Runs a few attempts in parallel, because most of them wait."""
    waiting, running = list(attempts), []
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            each = waiting.pop(0)
            running.append((each, *attempt_apart(each)))
        each, child, reader = running.pop(0)
        with os.fdopen(reader, "rb") as answers:
            answer = answers.read().decode()
        os.waitpid(child, 0)
        print(answer or json.dumps({"id": each["id"], "broken": "it ended without a word"}), flush=True)


if __name__ == "__main__":
    given = sys.argv[1]
    if given.startswith("["):
        attempt_all(json.loads(given))
    else:
        with open(given, encoding="utf8") as file:
            attempt_all(json.load(file))

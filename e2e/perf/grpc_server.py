"""gRPC server on grpcio, without TLS, that fails every n-th call and counts the failed ones.

Arguments: n, and the number of calls at the beginning that it does not count. Prints its address once it serves; when its standard
input ends, it prints the number of failed calls.
"""

import json
import sys
from concurrent import futures
from itertools import count

import grpc

EVERY, FIRST = (int(argument) for argument in sys.argv[1:])


class Service(grpc.GenericRpcHandler):
    def __init__(self):
        # Atomic, unlike `+=`, although threads share it.
        self.calls = count(1 - FIRST)
        self.failed = count()

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def answer(self, message, context):
        call = next(self.calls)
        if call > 0 and call % EVERY == 0:
            next(self.failed)
            context.abort(grpc.StatusCode.UNAVAILABLE, "injected")
        return message


service = Service()
server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), handlers=[service])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(json.dumps({"address": f"127.0.0.1:{port}"}, separators=(",", ":")), flush=True)
sys.stdin.read()
server.stop(grace=None).wait()
print(json.dumps({"injected": next(service.failed)}), flush=True)

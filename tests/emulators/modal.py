"""Modal: the gRPC control plane and the task command router of its workers, on one port; its proxy on another.

The SDK's own descriptors decode what it sends and encode what it is told: a field that it renames is noticed here.
A method that is not served is UNIMPLEMENTED, and recorded all the same.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpclib.const
import grpclib.server
from google.protobuf import json_format, message_factory
from grpclib import GRPCError, Status
from modal_proto import api_pb2, task_command_router_pb2

from tests.emulators.base import Emulator, Hung, Program, Request, Response, Sandbox, answer, forward

api: Any = api_pb2  # their classes are made at run time
router: Any = task_command_router_pb2
SERVICES = (api.DESCRIPTOR.services_by_name["ModalClient"], router.DESCRIPTOR.services_by_name["TaskCommandRouter"])

_OUTPUTS = {
    router.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDOUT: "/stdout",
    router.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR: "/stderr",
}
_POLL_SECONDS = 0.1  # how soon a reader that left is noticed
_PAGE = 2
_STATUS = {
    400: Status.INVALID_ARGUMENT,
    401: Status.UNAUTHENTICATED,
    403: Status.PERMISSION_DENIED,
    404: Status.NOT_FOUND,
    409: Status.ALREADY_EXISTS,
    412: Status.FAILED_PRECONDITION,
    416: Status.OUT_OF_RANGE,
    429: Status.RESOURCE_EXHAUSTED,
    500: Status.INTERNAL,
    501: Status.UNIMPLEMENTED,
    502: Status.UNAVAILABLE,
    503: Status.UNAVAILABLE,
}


@dataclass
class Call(Request):
    """A gRPC request: its path is the method's, and which output it reads where it reads one."""

    message: Any = None
    #: Set when nobody waits for the answer any more.
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json_format.MessageToDict(self.message, preserving_proto_field_name=True)


@dataclass
class Reply(Response):
    """A gRPC answer; `stream` has messages."""

    message: Any = None


class ModalEmulator(Emulator):
    """`image` is the account's only one."""

    secret = "emulated-secret"
    image = "rlm-secure-sandbox:1"
    build_status = "SUCCESS"
    #: What a sandbox is; the real ones are gVisor's.
    kind: type[Sandbox] = Sandbox
    #: How long the token of a worker is good for.
    token_seconds = 3600.0

    def __init__(self) -> None:
        super().__init__()
        self.doors: dict[str, tuple[str, int]] = {}
        self.executions: dict[str, Execution] = {}
        self.apps: dict[str, str] = {}
        self.token = jwt(3600)
        self._connections: set[Any] = set()
        self._pool = ThreadPoolExecutor(512, thread_name_prefix="emulator-call")
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._grpc = threading.Thread(target=self._serve, name="emulator-grpc", daemon=True)
        self._grpc.start()
        self._started.wait(10)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.grpc_port}"

    def close(self) -> None:
        super().close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._grpc.join(10)
        self._pool.shutdown(wait=True)

    def error(self, status: int, message: str) -> Response:
        return Response(status, ("rate limit exceeded: " if status == 429 else "").encode() + message.encode())

    def hang_up(self) -> None:
        """Close every connection, as a server does that was idle for long."""
        for each in tuple(self._connections):  # another thread adds to them
            self._loop.call_soon_threadsafe(each.abort)

    # -- gRPC -------------------------------------------------------------------------------------

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = grpclib.server.Server([self], loop=None)
        self._loop.run_until_complete(server.start("127.0.0.1", 0))
        self.grpc_port = server._server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, server.wait_closed(), return_exceptions=True))
        self._loop.close()

    def __mapping__(self) -> dict[str, grpclib.const.Handler]:
        found = {}
        for service in SERVICES:
            for method in service.methods:
                path = f"/{service.full_name}/{method.name}"
                cardinality = grpclib.const.Cardinality((method.client_streaming, method.server_streaming))
                kinds = (message_factory.GetMessageClass(each) for each in (method.input_type, method.output_type))
                found[path] = grpclib.const.Handler(self._method(path), cardinality, *kinds)
        return found

    def _method(self, path: str) -> Any:
        async def call(stream: Any) -> None:
            self._connections.add(stream._stream._transport)
            message = await stream.recv_message()
            request = Call("POST", path, {}, dict(stream.metadata), message.SerializeToString(), message=message)
            if hasattr(message, "file_descriptor"):
                request.path += _OUTPUTS[message.file_descriptor]
            loop = asyncio.get_running_loop()
            try:
                reply: Any = await loop.run_in_executor(self._pool, self.handle, request)
                if reply.status >= 400:
                    raise GRPCError(_STATUS[reply.status], reply.body.decode())
                if reply.stream is None:
                    await stream.send_message(reply.message)
                    return
                while (piece := await loop.run_in_executor(self._pool, next, reply.stream, None)) is not None:
                    await stream.send_message(piece)
            except (ConnectionError, Hung):
                await stream.cancel()
            finally:
                request.gone.set()

        return call

    # -- the control plane ------------------------------------------------------------------------

    def route(self, request: Request) -> Response:
        self._expire()
        if not isinstance(request, Call):
            return self._proxy(request)
        service, _, method = request.path.removeprefix("/").partition("/")
        told = request.message
        if service == SERVICES[1].full_name:
            return self._router(request, method.partition("/")[0])
        given = (request.headers.get("x-modal-token-id"), request.headers.get("x-modal-token-secret"))
        if given != (self.key, self.secret):
            return self.error(401, "Token validation failed: cannot authenticate")
        if method.endswith("V2") and request.headers.get("x-modal-auth-token") != self.token:
            return self.error(401, "the auth token is wrong")
        box = self.sandboxes.get(getattr(told, "sandbox_id", ""))
        match method:
            case "AuthTokenGet":
                return Reply(message=api.AuthTokenGetResponse(token=self.token))
            case "AppGetOrCreate":
                name = self.apps.setdefault(told.app_name, f"ap-{secrets.token_hex(11)}")
                return Reply(message=api.AppGetOrCreateResponse(app_id=name))
            case "EnvironmentGetOrCreate":
                settings = api.EnvironmentSettings(image_builder_version="2025.06")
                metadata = api.EnvironmentMetadata(name="main", settings=settings)
                return Reply(message=api.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=metadata))
            case "ImageGetByTag":
                if told.tag.rpartition("/")[2] != self.image:
                    return self.error(404, f"Image '{told.tag.removesuffix(':latest')}' not found")
                return Reply(message=api.ImageGetByTagResponse(image_id="im-own"))
            case "ImageFromId":
                return Reply(message=api.ImageFromIdResponse(image_id=told.image_id))
            case "ImageGetOrCreate":
                status = getattr(api.GenericResult, f"GENERIC_STATUS_{self.build_status}")
                result = api.GenericResult(status=status, exception="as told")
                return Reply(message=api.ImageGetOrCreateResponse(image_id="im-built", result=result))
            case "ImagePublish":
                return Reply(message=api.ImagePublishResponse(image_id=told.image_id, revision_id="r"))
            case "SandboxCreateV2":
                return self._create(request)
            case "SandboxListV2":
                return self._list(told)
            case "SandboxWaitV2":
                return self._wait(told.sandbox_id)
            case "SandboxTagsGetV2" if box is not None:
                return Reply(message=api.SandboxTagsGetResponse(tags=_tags(box)))
            case "SandboxTerminateV2":
                self.vanish(told.sandbox_id)
                return Reply(message=api.SandboxTerminateResponse())
            case "SandboxGetCommandRouterAccess" if box is not None:
                access = api.SandboxGetCommandRouterAccessResponse(url=self.api, jwt=box.token)
                return Reply(message=access)
            case "SandboxCreateConnectTokenV2" if box is not None:
                return self._connect_token(box, told.port)
        if method.startswith("Sandbox") and box is None:
            return self.error(404, "Sandbox not found")
        return self.error(501, f"{method} is not emulated")

    def _create(self, request: Call) -> Response:
        told = request.message
        definition = told.definition
        if told.app_id not in self.apps.values():
            return self.error(404, "App not found")
        with self.lock:
            if any(each.request["name"] == definition.name for each in self.live):
                return self.error(409, f"Sandbox {definition.name} already exists")
            tags = {each.tag_name: each.tag_value for each in told.tags}
            asked = {"name": definition.name, "metadata": tags, "app": told.app_id, "at": time.time()}
            box = self.kind({**asked, "network": definition.network_access.network_access_type})
            box.name = f"sb-{box.name}V2"
            box.token = jwt(self.token_seconds)
            box.ends_at = time.monotonic() + definition.timeout_secs
            self.sandboxes[box.name] = box
            self.made.append(box)
        box.start(list(definition.entrypoint_args), stdin=False)
        access = api.CommandRouterAccess(url=self.api, jwt=box.token)
        metadata = api.SandboxHandleMetadata(app_id=told.app_id)
        made = api.SandboxCreateV2Response(sandbox_id=box.name, task_id=f"ta-{box.name}V", metadata=metadata)
        made.command_router_access.CopyFrom(access)
        return Reply(message=made)

    def _list(self, told: Any) -> Response:
        wanted = {each.tag_name: each.tag_value for each in told.tags}
        found = [each for each in self.live if wanted.items() <= each.request["metadata"].items()]
        found = [each for each in found if each.request["app"] == told.app_id]
        before = told.before_timestamp or float("inf")
        newest = sorted((each for each in found if each.request["at"] < before), key=lambda each: -each.request["at"])
        told = [
            api.SandboxInfo(
                id=each.name, created_at=each.request["at"], metadata=api.SandboxHandleMetadata(app_id=told.app_id)
            )
            for each in newest[:_PAGE]
        ]
        return Reply(message=api.SandboxListResponse(sandboxes=told))

    def _wait(self, name: str) -> Response:
        """With a timeout of 0, which is all that is asked for here."""
        result = api.GenericResult()
        if name not in self.sandboxes:
            if name not in [each.name for each in self.made]:
                return self.error(404, "Sandbox not found")
            result.status = api.GenericResult.GENERIC_STATUS_TERMINATED
        return Reply(message=api.SandboxWaitResponse(result=result))

    def _connect_token(self, box: Sandbox, port: int) -> Response:
        if box.request["network"] == api.NetworkAccess.BLOCKED:
            return self.error(412, "the sandbox has no network, in neither direction")
        self.doors[box.traffic] = (box.name, port)
        return Reply(message=api.SandboxCreateConnectTokenResponse(url=self.url, token=box.traffic))

    def _proxy(self, request: Request) -> Response:
        """The real one has a host name for each sandbox; here the token tells them apart."""
        name, port = self.doors.get(request.headers.get("authorization", "").removeprefix("Bearer "), ("", 0))
        if name not in self.sandboxes:
            return answer({"message": "the connect token is wrong"}, 401)
        return forward(request, self.sandboxes[name], port)

    def _expire(self) -> None:
        for box in self.live:
            if box.ends_at is not None and time.monotonic() >= box.ends_at:
                self.vanish(box.name)

    # -- the task command router ------------------------------------------------------------------

    def _router(self, request: Call, method: str) -> Response:
        told = request.message
        box = next((each for each in self.live if told.task_id == f"ta-{each.name}V"), None)
        if box is None:
            return self.error(404, "the task is not there")
        if request.headers.get("authorization") != f"Bearer {box.token}":
            return self.error(401, "invalid access token")
        if method == "TaskExecStart":
            return self._start(box, told)
        run = self.executions.get(told.exec_id)
        if run is None:
            return self.error(404, "the execution is not there")
        match method:
            case "TaskExecStdioRead":
                output = run.read(request.path.rpartition("/")[2], told.offset, (request.gone, self.closing))
                return Response(stream=output)
            case "TaskExecStdinWrite":
                return self._write(run, told)
            case "TaskExecWait":
                while not run.program.exit.wait(0.05):
                    if request.gone.is_set() or self.closing.is_set():
                        raise Hung
                status = run.program.process.returncode
                kind = {"signal": -status} if status < 0 else {"code": status}
                return Reply(message=router.TaskExecWaitResponse(**kind))
        return self.error(501, f"{method} is not emulated")

    def _start(self, box: Sandbox, told: Any) -> Response:
        with self.lock:
            if told.exec_id not in self.executions:  # sent again, it is the same one
                program = box.start(list(told.command_args), stdin=True, cwd=told.workdir)
                program.keep = True
                self.executions[told.exec_id] = Execution(program)
        return Reply(message=router.TaskExecStartResponse())

    def _write(self, run: Execution, told: Any) -> Response:
        with run.lock:
            if told.offset > run.written:
                return self.error(416, f"the input has {run.written} bytes, not {told.offset}")
            data = told.data[run.written - told.offset :]
            if data and not run.program.write(data):
                return self.error(412, "its input is closed")
            run.written += len(data)
            if told.eof:
                run.program.close_stdin()
        return Reply(message=router.TaskExecStdinWriteResponse())


class Execution:
    """A command, how much of its input has come, and all of its output."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lock = threading.Lock()
        self.written = 0

    def read(self, kind: str, offset: int, over: tuple[threading.Event, ...]) -> Iterator[Any]:
        """Its output from a byte on, as it comes."""
        seen = position = 0
        log, over_with = self.program.log, self.program.exit
        while not any(each.is_set() for each in over):
            with self.program.news:
                self.program.news.wait_for(lambda: len(log) > seen or over_with.is_set(), _POLL_SECONDS)
                ended, fresh = over_with.is_set(), log[seen:]
            for found, data in fresh:
                seen += 1
                if found == kind:
                    skip = max(offset - position, 0)
                    position += len(data)
                    if data[skip:]:
                        yield router.TaskExecStdioReadResponse(data=data[skip:])
            if ended and seen == len(log):
                return


def _tags(box: Sandbox) -> list[Any]:
    return [api.SandboxTag(tag_name=name, tag_value=value) for name, value in box.request["metadata"].items()]


def jwt(seconds: float) -> str:
    """As the SDK reads one: when it ends, and nothing else."""
    parts = ({"alg": "none"}, {"exp": time.time() + seconds, "jti": secrets.token_hex(8)})
    encoded = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts]
    return ".".join([*encoded, "emulated"])

"""Rules on Python programs that run model-written code without walls, or that expose keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rlm_secure.audit.finding import Confidence, Finding, Severity
from rlm_secure.audit.read.code import UNKNOWN, CallSite, PythonSubject
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.guarantees import Guarantee

_EVERYTHING = (
    Guarantee.NO_HOST_FILES, Guarantee.NO_NETWORK, Guarantee.NO_EXEC, Guarantee.NO_SECRETS, Guarantee.HOST_INTEGRITY,
)  # fmt: skip
_UPSTREAM = ("rlm.RLM", "rlm.core.rlm.RLM", "rlm.core.RLM")
_IN_PROCESS = ("local", "ipython")
#: RLM(backend, backend_kwargs, environment, ...): the position of `environment`.
_ENVIRONMENT = 2
_KEY_NAME = re.compile(r"(?i)(?:^|_)(?:api_?key|secret(?:_?key)?|access_?token|auth_?token|token|password|passwd)$")
_PLACEHOLDER = re.compile(
    r"(?i)^$|^[<{$]|x{4}|your|example|dummy|placeholder|change_?me|not.?needed|^empty$|^none$|\.\.\."
)
_EXEC_TIME = ("exec", "eval", "compile", "builtins.exec", "builtins.eval")
_LOADERS = ("load", "loads", "Unpickler", "open", "read_pickle")
#: Modules that these rules search for; nothing here imports them.
_UNSAFE_READERS = ("pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "_pickle", "cPickle")
_SAFE_LOADERS = ("yaml.SafeLoader", "yaml.CSafeLoader", "yaml.BaseLoader")
_SHELLS = ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput")
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - what is looked for
_SERVERS = re.compile(r"(?:Server|serve|serve_forever|run|bind|create_server|start_server)$")
_SCREENS = (
    "RestrictedPython.compile_restricted", "RestrictedPython.compile_restricted_exec",
    "RestrictedPython.compile_restricted_eval", "smolagents.LocalPythonExecutor",
    "smolagents.local_python_executor.LocalPythonExecutor", "asteval.Interpreter", "simpleeval.simple_eval",
)  # fmt: skip


def _environment(call: CallSite) -> object:
    argument = call.keywords.get("environment")
    if argument is None and len(call.arguments) > _ENVIRONMENT:
        argument = call.arguments[_ENVIRONMENT]
    if argument is None:
        return UNKNOWN if call.unpacked else "local"
    return argument.value


class UpstreamLocal(Rule[PythonSubject]):
    """Upstream's RLM runs what the model writes inside your own process.

    Its `local` environment, the default, runs cells with Python's exec in the host process: with your files, your
    keys and your network. `ipython` does the same in an IPython kernel. A hostile document controls what runs.

    Bad:
        from rlm import RLM
        rlm = RLM(backend="openai", environment="local")

    Good:
        from rlm_secure import RLM
        rlm = RLM(backend="openai", environment="local")

    See:
        threat-model.md, section 1
    """

    id = "upstream-local"
    kind = Kind.PYTHON
    severity = Severity.CRITICAL
    weakens = _EVERYTHING
    hint = "import RLM from rlm_secure: the same arguments, behind walls"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.called(*_UPSTREAM, "rlm.environments.LocalREPL", "rlm.environments.local_repl.LocalREPL"):
            environment = "local" if call.function == "LocalREPL" else _environment(call)
            if environment in _IN_PROCESS:
                said = "by default" if "environment" not in call.keywords else f"environment={environment!r}"
                message = f"upstream's {call.function} runs cells in this process ({said})"
                yield self.finding(call.location, message, about=call.name)


class UpstreamBroker(Rule[PythonSubject]):
    """Upstream's containers talk to a broker without authentication.

    In each of its container and cloud environments a server listens on all interfaces, without a credential, and
    state passes between cells by unpickling a file that cells can write.

    Bad:
        from rlm import RLM
        rlm = RLM(backend="openai", environment="docker")

    Good:
        from rlm_secure import RLM
        rlm = RLM(backend="openai", environment="docker")

    See:
        threat-model.md, claim authentic-channel
    """

    id = "upstream-broker"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    weakens = (Guarantee.AUTHENTIC_CHANNEL, Guarantee.BOUNDED_SPEND, Guarantee.NO_SECRETS)
    hint = "import RLM from rlm_secure: its channel has no address, and its state no pickle"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.called(*_UPSTREAM):
            environment = _environment(call)
            if isinstance(environment, str) and environment not in _IN_PROCESS:
                message = f"upstream's environment {environment[:40]!r} has a broker without a credential"
                yield self.finding(call.location, message, about=f"{call.name} {environment[:40]}")


class UpstreamImported(Rule[PythonSubject]):
    """A program imports upstream's `rlm`.

    What it runs has none of the walls and limits of this package. That may be intended, in a benchmark or a
    comparison; in a service it is a mistake.

    Bad:
        import rlm

    Good:
        import rlm_secure

    See:
        README.md
    """

    id = "upstream-imported"
    kind = Kind.PYTHON
    severity = Severity.LOW
    confidence = Confidence.MEDIUM
    weakens = _EVERYTHING
    hint = "import rlm_secure instead"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        places = [place for name, place in subject.imports.items() if name.partition(".")[0] == "rlm"]
        if places:
            yield self.finding(places[0], "upstream's rlm is imported", about="rlm")


class KeyInCode(Rule[PythonSubject]):
    """A key is written into a program.

    It is then in the repository, in every copy of it, in tracebacks and in logged configurations, and it cannot be
    changed without a release.

    Bad:
        client = get_client("openai", {"api_key": "sk-proj-4f8a1c0d9e7b6a5f4e3d2c1b"})

    Good:
        import os
        client = get_client("openai", {"api_key": os.environ["OPENAI_API_KEY"]})

    See:
        https://cwe.mitre.org/data/definitions/798.html
    """

    id = "key-in-code"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    confidence = Confidence.MEDIUM
    weakens = (Guarantee.NO_SECRETS,)
    hint = "read it from the environment, and withdraw the one that was written down"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for text in subject.texts:
            if _KEY_NAME.search(text.name) and len(text.text) >= 8 and not _PLACEHOLDER.search(text.text):
                # The report must not contain the value, which may be a key.
                message = f"{text.name} is a string of {len(text.text)} characters, written out"
                yield self.finding(text.location, message, about=text.name)


class BrokerEverywhere(Rule[PythonSubject]):
    """A server listens on every interface of the machine.

    Anyone who can reach the machine can connect to it. A broker for a sandbox needs one peer, and a socket that only
    this peer holds.

    Bad:
        from http.server import HTTPServer
        server = HTTPServer(("0.0.0.0", 8080), Handler)

    Good:
        from http.server import HTTPServer
        server = HTTPServer(("127.0.0.1", 8080), Handler)

    See:
        threat-model.md, claim authentic-channel
    """

    id = "broker-everywhere"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    weakens = (Guarantee.AUTHENTIC_CHANNEL, Guarantee.NO_NETWORK)
    hint = "listen on a Unix socket or on 127.0.0.1, and ask for a token"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.calls:
            if not _SERVERS.search(call.function):
                continue
            named = [argument for name, argument in call.keywords.items() if name in ("host", "address", "addr")]
            for argument in (*call.arguments, *named):
                if argument.value in _EVERYWHERE:
                    message = f"{call.function} listens on {argument.value}, which is every interface"
                    yield self.finding(argument.location, message, about=call.name)


class ExecOfText(Rule[PythonSubject]):
    """A program runs text as code.

    If the text comes from a model, a document or a request, its author runs code as you. No list of forbidden words
    and no empty `__builtins__` prevents that.

    Bad:
        exec(reply.code, {"__builtins__": {}})

    Good:
        from rlm_secure import Sandbox
        with Sandbox() as sandbox:
            sandbox.run(reply.code)

    See:
        https://cwe.mitre.org/data/definitions/95.html
    """

    id = "exec-of-text"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    confidence = Confidence.MEDIUM
    weakens = _EVERYTHING
    hint = "give the text to Sandbox.run"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.called(*_EXEC_TIME):
            if call.arguments and call.arguments[0].value is UNKNOWN:
                yield self.finding(call.location, f"{call.function} runs text that is not a constant", about=call.name)


class Unpickling(Rule[PythonSubject]):
    """A program reads data in a format that may run code while it is read.

    pickle, dill, joblib, shelve and marshal build whatever the data describes, by calling what the data names. If the
    host reads a sandbox's state like that, the sandbox can escape.

    Bad:
        import dill
        state = dill.load(file)

    Good:
        import json
        state = json.load(file)

    See:
        https://docs.python.org/3/library/pickle.html
        https://cwe.mitre.org/data/definitions/502.html
    """

    id = "unpickling"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    weakens = (Guarantee.HOST_INTEGRITY, Guarantee.NO_EXEC)
    hint = "use JSON, or another format that holds data only"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.calls:
            top = call.name.partition(".")[0]
            if (top in _UNSAFE_READERS or call.name == "pandas.read_pickle") and call.function in _LOADERS:
                yield self.finding(call.location, f"{call.name} runs what the data says", about=call.name)


class UnsafeYaml(Rule[PythonSubject]):
    """A program reads YAML with a loader that builds objects.

    PyYAML's full and unsafe loaders can create objects of classes that the document names, with any arguments.

    Bad:
        import yaml
        config = yaml.load(text, Loader=yaml.UnsafeLoader)

    Good:
        import yaml
        config = yaml.safe_load(text)

    See:
        https://pyyaml.org/wiki/PyYAMLDocumentation
    """

    id = "unsafe-yaml"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    confidence = Confidence.MEDIUM
    weakens = (Guarantee.HOST_INTEGRITY, Guarantee.NO_EXEC)
    hint = "use yaml.safe_load"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.called("yaml.unsafe_load", "yaml.unsafe_load_all", "yaml.full_load", "yaml.load"):
            if call.name == "yaml.load" and call.reads("Loader", 1) in _SAFE_LOADERS:
                continue
            yield self.finding(call.location, f"{call.name} may build objects of any class", about=call.name)


class ShellCommand(Rule[PythonSubject]):
    """A program passes a command line to a shell.

    The shell parses all of it: a file name with a semicolon becomes two commands.

    Bad:
        import subprocess
        subprocess.run(f"docker exec {name} python cell.py", shell=True)

    Good:
        import subprocess
        subprocess.run(["docker", "exec", name, "python", "cell.py"])

    See:
        https://cwe.mitre.org/data/definitions/78.html
    """

    id = "shell-command"
    kind = Kind.PYTHON
    confidence = Confidence.MEDIUM
    weakens = (Guarantee.NO_EXEC, Guarantee.HOST_INTEGRITY)
    hint = "give the arguments as a list, without a shell"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.calls:
            shell = call.keywords.get("shell")
            given = shell is not None and shell.value is not UNKNOWN and bool(shell.value)
            constant = bool(call.arguments) and call.arguments[0].value is not UNKNOWN
            if (given or call.name in _SHELLS) and not constant:
                yield self.finding(call.location, f"{call.name} hands a line to a shell", about=call.name)


class ScreenAlone(Rule[PythonSubject]):
    """A program relies on a language layer alone.

    RestrictedPython, smolagents' local executor, asteval and similar tools check the source and guard the names. Each
    has been escaped more than once, and each escape runs in your own process.

    Bad:
        from RestrictedPython import compile_restricted
        code = compile_restricted(reply, "<cell>", "exec")

    Good:
        from rlm_secure import Sandbox
        with Sandbox() as sandbox:
            sandbox.run(reply)

    See:
        rlm-secure explain package-vulnerable
        threat-model.md, section 4
    """

    id = "screen-alone"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    weakens = (*_EVERYTHING, Guarantee.NO_REFLECTION)
    hint = "run it in a Sandbox, which has such a layer too, and walls behind it"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.called(*_SCREENS):
            yield self.finding(call.location, f"{call.name} is a language layer without walls", about=call.name)


class UnscreenedSession(Rule[PythonSubject]):
    """A program outside the tests uses `unscreened`.

    It gives cells plain Python, so that the kernel walls can be attacked without the language layer. In production it
    removes one of two defences.

    Bad:
        from rlm_secure.testing import unscreened
        session = unscreened()

    Good:
        from rlm_secure import Sandbox
        session = Sandbox()

    See:
        threat-model.md, section 4
    """

    id = "unscreened-session"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    weakens = (Guarantee.NO_REFLECTION,)
    hint = "use Sandbox"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.called("rlm_secure.testing.unscreened"):
            yield self.finding(call.location, "this session has no language layer", about=call.name)


class UnverifiedServer(Rule[PythonSubject]):
    """A program talks to a server without verifying its certificate.

    With `verify=False` an attacker on the network path can read the key and the context, and forge the reply.

    Bad:
        import httpx
        client = httpx.Client(verify=False)

    Good:
        import httpx
        client = httpx.Client()

    See:
        https://cwe.mitre.org/data/definitions/295.html
    """

    id = "unverified-server"
    kind = Kind.PYTHON
    severity = Severity.HIGH
    confidence = Confidence.MEDIUM
    weakens = (Guarantee.NO_SECRETS, Guarantee.AUTHENTIC_CHANNEL)
    hint = "take verify=False out; give verify a file of your own authority where you need one"

    def check(self, subject: PythonSubject) -> Iterator[Finding]:
        for call in subject.calls:
            verify = call.keywords.get("verify")
            if verify is not None and verify.value is False:
                yield self.finding(verify.location, f"{call.name} does not check certificates", about=call.name)


RULES = (
    UpstreamLocal, UpstreamBroker, UpstreamImported, KeyInCode, BrokerEverywhere, ExecOfText, Unpickling, UnsafeYaml,
    ShellCommand, ScreenAlone, UnscreenedSession, UnverifiedServer,
)  # fmt: skip

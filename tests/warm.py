"""Run a command whose Python programs start warm: python tests/warm.py COMMAND ...

Of a tiny job most seconds go into importing PyTorch and transformers, and of a plan a third into
importing Snakemake. Here `python` is a fork of a process that has imported them, and nothing of
this repository. The workflow, its rules, programs and files are what they are without it.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

OF_PROGRAMS = (
    *("torch", "transformers.modeling_utils", "sklearn.cluster", "sklearn.linear_model"),
    *("scipy.stats", "pandas", "pyarrow.dataset", "pyarrow.parquet", "pydantic.main", "tokenizers"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf"),
    "tabulate",
)
# A line that the kernel reads has no path with a space in it, so a shell starts Python: for the one
# the second line is a command, for the other a string.
SHIM = """#!/bin/sh
'''exec' "{python}" -IS "$0" "$@"
' '''
import json, os, socket, sys
if not sys.argv[1:] or not (sys.argv[1] == "-m" or sys.argv[1].endswith(".py")):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    # What bash opens for <(command) is open in this process alone.
    mine = [word.replace("/dev/fd/", f"/proc/{{os.getpid()}}/fd/") for word in sys.argv[1:]]
    server.sendall(json.dumps([os.getcwd(), mine, dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    status = server.recv(8)
sys.exit(int(status or 1))
"""


@contextmanager
def warm(*modules: str) -> Iterator[Path]:
    """A program like `python`; a script, or a module by `-m`, finds these modules imported."""
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        address, program = f"{folder}/socket", Path(folder, "python")
        program.write_text(SHIM.format(python=sys.executable, address=address))
        program.chmod(0o755)
        listener.bind(address)
        listener.listen(100)
        number = listener.fileno()
        server = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(number), *modules],
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
            pass_fds=[number],
        )
        listener.close()  # if the server ends, nobody shall wait for its answer
        try:
            yield program
        finally:
            server.kill()
            server.wait()


def serve(number: str, *modules: str) -> None:
    """Answer each connection to a listening socket in a fork, as long as who asked for it lives."""
    parent = os.getppid()
    sys.path.pop(0)  # the folder of this file
    for module in modules:
        importlib.import_module(module)
    sys.modules.pop("__mp_main__", None)  # joblib's second name of this file
    gc.freeze()  # so that no fork looks through all of that for garbage
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(fileno=int(number))
    listener.settimeout(5)
    while os.getppid() == parent:
        try:
            client, _ = listener.accept()
        except TimeoutError:
            continue
        if not os.fork():
            listener.close()
            client.setblocking(True)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answer(client)
        client.close()


def answer(client: socket.socket) -> None:
    """Run what a client asks for in a fork, and tell its status."""
    _, streams, *_ = socket.recv_fds(client, 1, 3)
    folder, arguments, environment = json.loads(b"".join(iter(lambda: client.recv(65536), b"")))
    if not (program := os.fork()):
        client.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        run(arguments)
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with suppress(BrokenPipeError):  # whoever asked was killed
        client.sendall(str(status if status >= 0 else 128 - status).encode())
    os._exit(0)


def run(arguments: list[str]) -> None:
    """The program as Python itself would run it, up to its exit."""
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    is_module = arguments[0] == "-m"
    sys.argv = arguments[is_module:]
    first = os.getcwd() if is_module else str(Path(arguments[0]).resolve().parent)
    imported = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [first, *filter(None, imported)]
    status = 0
    try:
        if is_module:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(command: list[str]) -> int:
    with warm(*OF_PROGRAMS) as python:
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.call(command, env=os.environ | {"PATH": path})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))

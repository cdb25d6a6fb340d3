"""Run a command whose Python programs start warm: python -m tests.mixed.warm COMMAND ...

Of a tiny study's jobs each takes most of its seconds to import PyTorch and transformers. Here
`python script.py`, as rules call it, is a fork of a process that has imported them, and nothing of
this repository. The workflow, its rules, programs and files are what they are without it.
"""

import atexit
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

SHIM = """#!{python} -IS
import json, os, socket, sys
if not sys.argv[1:] or not sys.argv[1].endswith(".py"):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(json.dumps([os.getcwd(), sys.argv[1:], dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    status = server.recv(8)
sys.exit(int(status or 1))
"""


def main(command: list[str]) -> int:
    folder = Path(tempfile.mkdtemp())
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            address = str(folder / "socket")
            listener.bind(address)
            listener.listen(100)
            os.environ.update(OMP_NUM_THREADS="1", PYTHONHASHSEED="0")
            if not (server := os.fork()):
                serve(listener)
        (folder / "python").write_text(SHIM.format(python=sys.executable, address=address))
        (folder / "python").chmod(0o755)
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        try:
            return subprocess.call(command, env=os.environ | {"PATH": path})
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
    finally:
        shutil.rmtree(folder)


def serve(listener: socket.socket) -> None:
    """Answer each connection in a fork, and never return."""
    import matplotlib.figure
    import pandas
    import pyarrow.parquet
    import scipy.stats
    import sklearn.cluster
    import sklearn.linear_model
    import torch
    import transformers.modeling_utils

    del matplotlib, pandas, pyarrow, scipy, sklearn, torch, transformers
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        client, _ = listener.accept()
        if not os.fork():
            listener.close()
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
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        run(arguments)
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    client.sendall(str(status if status >= 0 else 128 - status).encode())
    os._exit(0)


def run(arguments: list[str]) -> None:
    """The program as Python itself would run it, up to its exit."""
    sys.argv = arguments
    imported = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [str(Path(arguments[0]).resolve().parent), *filter(None, imported)]
    status = 0
    try:
        runpy.run_path(arguments[0], run_name="__main__")
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

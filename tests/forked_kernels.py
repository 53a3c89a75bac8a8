"""Kernels for `pytest --nbval` that start warm: copies of a process that has imported PyTorch.

Half a hundred notebooks would each spend four seconds of a processor on the same imports. So a
fork server of each worker does them once, and a kernel is a fork of it, as empty as a new one.
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

CONTEXT = multiprocessing.get_context("forkserver")
# Of a kernel's environment, what Jupyter sets for each.
JUPYTERS_OWN = {"JPY_PARENT_PID", "JPY_SESSION_NAME", "PYDEVD_USE_FRAME_EVAL"}
# What notebooks import, and what PyTorch imports when the first optimizer is made.
WARM = (
    "ipykernel.ipkernel",
    "torch",
    "torch._dynamo",
    "matplotlib.pyplot",
    "sacrebleu.metrics",
    "statsmodels.api",
    "d2lattn.corpus",
    "d2lattn.book.explorables",
)


class Kernel(CONTEXT.Process):
    """A kernel's process, with what Jupyter asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], folder: str | Path) -> None:
        super().__init__()
        self.arguments, self.folder = arguments, folder

    def run(self) -> None:
        """Do in the fork what `python -m ipykernel_launcher` does, in the notebook's folder."""
        import matplotlib as mpl
        from ipykernel.kernelapp import IPKernelApp

        os.chdir(self.folder)
        # No notebook finds the tests, nor the package but where it is installed.
        python = sys.prefix, sys.base_prefix
        sys.path[:] = [folder for folder in sys.path if folder.startswith(python)]
        # A variable of the environment says this to a matplotlib that is imported later.
        mpl.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
        end_with_server = f"--IPKernelApp.parent_handle={os.getppid()}"
        IPKernelApp.launch_instance([*self.arguments, end_with_server])

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


class ForkedKernels(LocalProvisioner):
    """Starts kernels as forks, unless they are to have an environment of their own."""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Reach the kernel by files: a free port may be another's until the kernel binds it."""
        self.parent.transport = "ipc"
        self.parent.ip = str(Path(tempfile.mkdtemp(prefix="kernel-")) / "socket")
        return await super().pre_launch(**kwargs)

    async def cleanup(self, restart: bool = False) -> None:
        await super().cleanup(restart=restart)
        shutil.rmtree(Path(self.parent.ip).parent, ignore_errors=True)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        if {name for name, _ in kwargs["env"].items() - os.environ.items()} - JUPYTERS_OWN:
            return await super().launch_kernel(cmd, **kwargs)
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        self.process = Kernel(arguments, kwargs["cwd"])
        self.process.start()
        return self.connection_info


def use_forked_kernels() -> None:
    """Let every kernel that this process starts be a fork."""
    CONTEXT.set_forkserver_preload(list(WARM))
    factory = KernelProvisionerFactory.instance()
    factory.default_provisioner_name = "forked"
    factory.provisioners["forked"] = EntryPoint(
        "forked", f"{__name__}:{ForkedKernels.__name__}", factory.GROUP_NAME
    )

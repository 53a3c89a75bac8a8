"""Kernels for `pytest --nbval` that are forks of a process that has imported PyTorch.

Each notebook would otherwise spend six seconds of processor time on the same imports. A
fork server in each worker does them once; a kernel is a fork of it, with an empty namespace.
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
# Environment variables that Jupyter sets for each kernel
JUPYTERS_OWN = {"JPY_PARENT_PID", "JPY_SESSION_NAME", "PYDEVD_USE_FRAME_EVAL"}
# Modules that notebooks import, or that PyTorch imports when the first optimizer is made
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
    """A kernel's process, with the methods of `subprocess.Popen` that Jupyter uses."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], folder: str | Path) -> None:
        super().__init__()
        self.arguments, self.folder = arguments, folder

    def run(self) -> None:
        """Do in the fork what `python -m ipykernel_launcher` does, in the notebook's folder."""
        import matplotlib as mpl
        from ipykernel.kernelapp import IPKernelApp

        os.chdir(self.folder)
        # A notebook can import neither the tests nor an uninstalled copy of the package.
        python = sys.prefix, sys.base_prefix
        sys.path[:] = [folder for folder in sys.path if folder.startswith(python)]
        # matplotlib is imported already, so the environment variable MPLBACKEND is too late.
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
    """Starts kernels as forks, unless they need an environment of their own."""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Use sockets in files: another process may take a port before the kernel binds it."""
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
    """Make every kernel that this process starts a fork."""
    CONTEXT.set_forkserver_preload(list(WARM))
    factory = KernelProvisionerFactory.instance()
    factory.default_provisioner_name = "forked"
    factory.provisioners["forked"] = EntryPoint(
        "forked", f"{__name__}:{ForkedKernels.__name__}", factory.GROUP_NAME
    )

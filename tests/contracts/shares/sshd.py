"""An sshd of the test's own on 127.0.0.1: own keys, own port, nothing of the system's service is read or touched."""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

START_SECONDS = 10.0
END_SECONDS = 5.0
PORT_ATTEMPTS = 5


class LoopbackSshd:
    """Serves files (and nothing else) to the key in its folder, while the `with` block lasts."""

    def __init__(self, folder: Path) -> None:
        self.user = getpass.getuser()
        self.port = 0
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def client_options(self) -> tuple[str, ...]:
        """What sshfs or ssh take with `-o`; the user's own configuration plays no part."""
        return (
            f"port={self.port}",
            f"IdentityFile={self._folder / 'user'}",
            f"UserKnownHostsFile={self._folder / 'known_hosts'}",
            "IdentitiesOnly=yes",
            "StrictHostKeyChecking=yes",
            "BatchMode=yes",
        )

    def start(self) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for name in ("host", "user"):
            if not (self._folder / name).exists():
                self._make_key(name)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where the root's sshd drops its privileges
        for _ in range(PORT_ATTEMPTS):
            self.port = self.port or free_port()
            if self._serves():
                return
            self.port = 0  # somebody was quicker
        raise AssertionError(f"sshd does not start: {(self._folder / 'log').read_text(encoding='utf-8')}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(END_SECONDS)
            self._process = None

    def _make_key(self, name: str) -> None:
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", self._folder / name]
        subprocess.run(command, check=True, timeout=30)

    def _serves(self) -> bool:
        folder = self._folder
        host_key = (folder / "host.pub").read_text(encoding="utf-8")
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key}", encoding="utf-8")
        shutil.copy(folder / "user.pub", folder / "authorized_keys")
        settings = {
            "Port": self.port,
            "ListenAddress": "127.0.0.1",
            "HostKey": folder / "host",
            "AuthorizedKeysFile": folder / "authorized_keys",
            "StrictModes": "no",  # the keys stand in a temporary folder, which may be open to others
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
            "PidFile": "none",
            "Subsystem": "sftp internal-sftp",
            "ForceCommand": "internal-sftp",
            "MaxStartups": "100",
        }
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        (folder / "sshd_config").write_text(text, encoding="utf-8")
        # An absolute path: sshd starts itself again for each connection.
        command = [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", folder / "sshd_config"]
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1.0):
                return True
            time.sleep(0.02)
        self.stop()
        return False

    def __enter__(self) -> "LoopbackSshd":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

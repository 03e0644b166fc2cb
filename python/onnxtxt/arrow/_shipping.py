"""Models on their way to the processes of a cluster: sent once to each machine, and opened once in each process."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import stat
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from onnxtxt._native import Error, Model, Session, __version__
from onnxtxt._native import open as open_model
from onnxtxt.arrow._predictor import Predictor

#: Sessions that a process keeps, of those that it used last.
_MAX_SESSIONS = 4

_lock = threading.Lock()
_sessions: OrderedDict[Any, Session] = OrderedDict()


@dataclasses.dataclass
class Parcel:
    """Everything that a worker needs but the content of the model, small enough to be sent with each task."""

    #: SHA-256 of the content.
    digest: str
    #: The version of the sender.
    version: str
    #: The arguments of ``Session`` and of ``Predictor``.
    session: dict[str, Any]
    predictor: dict[str, Any]

    @property
    def file_name(self) -> str:
        """The name of a file with the model."""
        return f"onnxtxt-{self.digest[:32]}.onnx"

    def predict_with(self, path: Callable[[], os.PathLike[str]], threads: int) -> Predictor:
        """A predictor in a worker; ``path`` returns the file of the model, which is mapped.

        Raises ``Error`` if the versions of sender and worker differ.
        """
        if self.version != __version__:
            raise Error(f"the driver has onnxtxt {self.version}, but this worker has {__version__}: install the same version on all machines")
        return Predictor(self._opened(path, threads), **self.predictor)

    def _opened(self, path: Callable[[], os.PathLike[str]], threads: int) -> Session:
        # Operators are Python objects, which may have changed.
        key = (self.digest, threads, repr(sorted(self.session.items())))
        with _lock:
            if "operators" not in self.session and key in _sessions:
                _sessions.move_to_end(key)
                return _sessions[key]
            # The processes of a machine share packed weights, unless the caller says otherwise.
            session = Session(open_model(path()), threads=threads, **{"cache": True, **self.session})
            _sessions[key] = session
            while len(_sessions) > _MAX_SESSIONS:
                _sessions.popitem(last=False)
            return session


def pack(model: Any, session: Mapping[str, Any] | None, predictor: Mapping[str, Any]) -> tuple[Parcel, bytes, Predictor]:
    """A model (whatever ``onnxtxt.open`` reads) as bytes with its external data, and what is sent with each task.

    What a worker would refuse is refused here: the model is compiled, and the arguments are checked.
    """
    if not isinstance(model, Model):
        model = open_model(model)
    arguments = {key: value for key, value in (session or {}).items() if value is not None}
    if "threads" in arguments:
        raise TypeError("threads are those of the engine: set how many processors a worker has")
    if model.operators:
        arguments["operators"] = {**model.operators, **arguments.get("operators", {})}
    checked = Predictor(Session(model, threads=1, **arguments), **predictor)
    content = model.to_bytes()
    return Parcel(hashlib.sha256(content).hexdigest(), __version__, arguments, dict(predictor)), content, checked


def on_this_machine(parcel: Parcel, content: Callable[[], Any]) -> pathlib.Path:
    """The file of a model in the folder of this user for temporary files, which all processes of the machine map.

    It is written once, from ``content``, and written anew if it is not what was sent. It may be deleted at any time.
    """
    path = _folder() / parcel.file_name
    try:
        with path.open("rb") as file:
            if _digest(file) == parcel.digest:
                return path
    except OSError:
        pass
    handle, name = tempfile.mkstemp(prefix="new-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(content())
        os.replace(name, path)
    except BaseException:
        pathlib.Path(name).unlink(missing_ok=True)
        raise
    return path


def _digest(file: Any) -> str:
    found = hashlib.sha256()
    while block := file.read(1 << 20):
        found.update(block)
    return found.hexdigest()


def _folder() -> pathlib.Path:
    """A folder that only this user can write to."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = pathlib.Path(tempfile.gettempdir()) / f"onnxtxt-models-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    is_own = not hasattr(os, "getuid") or (found.st_uid == user and not found.st_mode & 0o022)
    if not stat.S_ISDIR(found.st_mode) or not is_own:
        raise Error(f"{folder} belongs to another user, or others may write to it: remove it")
    return folder

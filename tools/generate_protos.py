"""Write the Python code of the wire contract beside its sources; with ``--check`` only compare.

The compiler is pinned in the development group to the protobuf release the SDK allows as its
oldest, 5.26: the last one whose code does not compare its own release with the installed one and
refuse (or warn) when they are more than a major version apart.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools.releases import ROOT

__all__ = ["generated"]

_SOURCE: Final = ROOT / "packages" / "naas-abi-sdk" / "src"
_PROTO: Final = Path("naas_abi_sdk", "proto")
_PROTOC: Final = Path(sys.executable).with_name("protoc")

#: `naas_abi_sdk.proto` says why the messages do not go into the default pool.
_DEFAULT_POOL: Final = "_descriptor_pool.Default()"
_POOL_IMPORT: Final = "from google.protobuf import descriptor_pool as _descriptor_pool"
_OWN_POOL: Final = "_pool()"
_OWN_IMPORT: Final = "from naas_abi_sdk.proto import pool as _pool"

_HEAD: Final = "# Generated from the .proto file beside it by `make generate`; edit that file.\n"


def generated() -> dict[Path, str]:
    """The text of every generated file, by where it belongs."""
    sources = sorted(path.relative_to(_SOURCE) for path in (_SOURCE / _PROTO).rglob("*.proto"))
    with tempfile.TemporaryDirectory(prefix="abi-protos-") as work:
        command = [_PROTOC, "-I", ".", f"--python_out={work}", f"--pyi_out={work}", *sources]
        subprocess.run(command, cwd=_SOURCE, check=True)
        files = [path for path in sorted(Path(work).rglob("*_pb2.py*")) if path.is_file()]
        return {_SOURCE / file.relative_to(work): _adapted(file) for file in files}


def _adapted(file: Path) -> str:
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        if text.count(_DEFAULT_POOL) != 1 or text.count(_POOL_IMPORT) != 1:
            message = f"{file.name} does not name the default pool where it used to"
            raise SystemExit(message)
        text = text.replace(_DEFAULT_POOL, _OWN_POOL).replace(_POOL_IMPORT, _OWN_IMPORT)
    else:
        # The compiler's stubs leave the mapping's types out, which strict checking refuses.
        text = text.replace("_Mapping]", "_Mapping[_Any, _Any]]")
        text = text.replace("from typing import ", "from typing import Any as _Any, ", 1)
    return _HEAD + text


def main() -> int:
    """Write the files, or with ``--check`` return 1 when one is not what its source says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    wanted = generated()
    present = set((_SOURCE / _PROTO).rglob("*_pb2.py")) | set((_SOURCE / _PROTO).rglob("*.pyi"))
    if not parser.parse_args().check:
        for path in present - wanted.keys():
            path.unlink()
        for path, text in wanted.items():
            path.write_text(text, "utf-8")
        return 0
    stale = {path for path, text in wanted.items() if not path.exists() or path.read_text() != text}
    for path in sorted(stale | (present - wanted.keys())):
        print(f"{path.relative_to(ROOT)} is out of date: run `make generate`", file=sys.stderr)
    return int(bool(stale or present - wanted.keys()))


if __name__ == "__main__":
    sys.exit(main())

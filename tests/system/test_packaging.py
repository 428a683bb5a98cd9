"""What the wheels hold, and that the check of it would notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tools.check_wheels import build, inspect_wheel
from tools.releases import DISTRIBUTIONS, find_distribution

SDK = find_distribution("sdk")
INFORMATION = f"naas_abi_sdk-{SDK.version}.dist-info"
METADATA = f"""\
Metadata-Version: 2.4
Name: naas-abi-sdk
Version: {SDK.version}
Summary: Something
License-Expression: MIT
Requires-Python: >=3.10
Description-Content-Type: text/markdown

{"A page of words that help. " * 20}
"""
GOOD = {
    "naas_abi_sdk/__init__.py": "",
    "naas_abi_sdk/py.typed": "",
    "naas_abi_sdk/testing/__init__.py": "",
    f"{INFORMATION}/METADATA": METADATA,
    f"{INFORMATION}/licenses/LICENSE": "MIT",
}


def complaints(folder: Path, contents: dict[str, str]) -> Iterator[str]:
    wheel = folder / "made_up.whl"
    with ZipFile(wheel, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return inspect_wheel(SDK, wheel)


def test_a_good_wheel_has_no_complaints(tmp_path: Path) -> None:
    assert list(complaints(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"naas_abi_sdk/document/test_types.py": ""}, "test_types.py: tests do not ship"),
        ({"naas_abi_sdk/tests/conftest.py": ""}, "conftest.py: tests do not ship"),
        ({"tests/anything.py": ""}, "tests/anything.py: outside the package"),
        ({f"{INFORMATION}/METADATA": METADATA.replace("MIT", "None")}, "License-Expression is"),
        (
            {f"{INFORMATION}/METADATA": METADATA.split("A page", maxsplit=1)[0]},
            "the README says nothing",
        ),
    ],
)
def test_a_wrong_wheel_is_noticed(tmp_path: Path, changed: dict[str, str], complaint: str) -> None:
    assert complaint in "\n".join(complaints(tmp_path, GOOD | changed))


@pytest.mark.parametrize("missing", ["naas_abi_sdk/py.typed", f"{INFORMATION}/licenses/LICENSE"])
def test_a_missing_file_is_noticed(tmp_path: Path, missing: str) -> None:
    contents = {name: text for name, text in GOOD.items() if name != missing}
    assert list(complaints(tmp_path, contents)) == [f"{missing}: missing"]


@pytest.mark.slow
def test_the_built_wheels_hold_what_they_should(tmp_path: Path) -> None:
    wheels = build(tmp_path)
    found = {
        distribution.name: list(inspect_wheel(distribution, wheels[distribution.name]))
        for distribution in DISTRIBUTIONS
    }
    assert found == {distribution.name: [] for distribution in DISTRIBUTIONS}

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from naas_abi_cli.commands.new import make_project
from naas_abi_cli.errors import WrongCall
from tests.cli.conftest import ABI, Abi, environment


def test_a_generated_project_remembers_as_it_stands(script: Abi, tmp_path: Path) -> None:
    made = script("new", "project", "My Shop")
    assert (made.code, made.err) == (0, "")
    assert "cd 'My Shop'" in made.out
    here = tmp_path / "My Shop"
    told = script("chat", "My name is Ada", "--thread", "first", cwd=here)
    assert (told.code, told.err) == (0, "thread first\n")
    asked = script("chat", "What is my name?", "-t", "first", cwd=here)
    assert asked.out == "[demonstration] Your name is Ada.\n"
    checked = script("config", "check", cwd=here)
    assert (checked.code, checked.err) == (0, "")
    assert (here / "storage" / "documents.sqlite").is_file()


def test_the_quickstart_holds(script: Abi, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "quickstart.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert script("new", "project", "hello").code == 0
    here = tmp_path / "hello"
    assert script("chat", "My name is Ada", "--thread", "first", cwd=here).code == 0
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=here,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.splitlines()[:2] == [
        "[demonstration] Your name is Ada.",
        "call_model assistant",
    ]
    assert ended.stdout.endswith("done [DONE]\n")


def test_files_and_json(abi: Abi, tmp_path: Path) -> None:
    ended = abi("new", "project", "shop-2", "--directory", str(tmp_path), "--json")
    files = {str(Path(each).relative_to(tmp_path)) for each in ended.json["files"]}
    assert files == {
        "shop-2/.gitignore",
        "shop-2/README.md",
        "shop-2/config.yaml",
        "shop-2/shop_2/__init__.py",
        "shop-2/shop_2/agents/__init__.py",
        "shop-2/shop_2/agents/assistant.py",
    }
    assert all(Path(each).is_file() for each in ended.json["files"])
    assert "${" not in "".join(Path(each).read_text() for each in ended.json["files"])


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("a", "a"),
        ("A B", "a_b"),
        ("7up", "project_7up"),
        ("class", "project_class"),
        ("x.y-z", "x_y_z"),
    ],
)
def test_packages_have_names_python_can_import(tmp_path: Path, name: str, package: str) -> None:
    make_project(name, tmp_path / "made")
    assert (tmp_path / "made" / package / "__init__.py").is_file()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "-x", "é", "a\nb", "a\x1b[31m"])
def test_names_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WrongCall, match="cannot be the name of a project"):
        make_project(name, tmp_path / "made")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_nothing_is_overwritten(abi: Abi, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "shop"
    if kind == "folder":
        target.mkdir()
    else:
        target.write_text("mine")
    ended = abi("new", "project", "shop", "-d", str(tmp_path))
    assert ended.code == 1
    assert ended.err == (
        "Error: it exists already and nothing is overwritten\n"
        f"  where: {target}\n"
        "  mend: Choose another name or --directory.\n"
    )
    assert not list(target.iterdir()) if kind == "folder" else target.read_text() == "mine"


def test_a_folder_that_cannot_be_made(abi: Abi, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = abi("new", "project", "shop", "-d", str(tmp_path / "file"))
    assert ended.code == 1
    assert "the project cannot be made: Not a directory" in ended.err
    assert "Choose a --directory you may write to." in ended.err


@pytest.mark.parametrize("name", ["json", "typer", "naas-abi-core", "Class"])
def test_a_name_that_python_has_given_already_is_prefixed(
    abi: Abi, tmp_path: Path, name: str
) -> None:
    assert abi("new", "project", name, "-d", str(tmp_path)).code == 0
    package = f"project_{name.lower().replace('-', '_')}"
    assert (tmp_path / name / package / "__init__.py").is_file()


def test_a_project_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"ulimit -f 0; exec {ABI} new project shop"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "the project cannot be made: File too large" in ended.stderr
    assert list(tmp_path.iterdir()) == []

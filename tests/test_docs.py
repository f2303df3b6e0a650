"""The documentation tells the truth: its code runs, its tables match, its site builds.

Python blocks of a page run in order and in one namespace, in an empty folder. A block
with a title is saved under it instead, and the lines of `bash` blocks that start with
`wideopt`, or run a saved file, are executed.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import wideopt as wo

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
# `make run` is the large one, and is run as such; that with Ax has a test of its own.
ELSEWHERE = {ROOT / "examples" / name for name in ("gas_transmission.py", "with_ax.py")}
EXAMPLES = sorted({*(ROOT / "examples").glob("*.py")} - ELSEWHERE)

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)")


class Block(NamedTuple):
    language: str
    title: str | None
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        title = _TITLE.search(match[2])
        line = text.count("\n", 0, match.start(3))
        found.append(Block(match[1], title and title[1], match[3], line))
    return found


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield tmp_path
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def python(*arguments: str, cwd: Path) -> str:
    """What a new interpreter prints, without the checks that tests switch on."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


# The command once for each line, in one process, since loading torch takes seconds.
_COMMANDS = """
import shlex, sys
from wideopt.cli import main
for line in sys.argv[1:]:
    print("$", line, flush=True)
    sys.argv = shlex.split(line, comments=True)
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""


def run_commands(lines: list[str], folder: Path) -> None:
    """Run the lines of a shell that need nothing but wideopt and saved files."""
    ours = [line for line in lines if line.startswith("wideopt ")]
    if ours:
        printed = python("-c", _COMMANDS, *ours, cwd=folder)
        outputs = re.split(r"^\$ .*$", printed, flags=re.MULTILINE)[1:]
        assert len(outputs) == len(ours)
        assert all(output.strip() for output in outputs), printed
    for line in lines:
        program, *arguments = shlex.split(line, comments=True) or [""]
        if program == "python" and (folder / arguments[0]).is_file():
            assert python(*arguments, cwd=folder).strip(), f"{line} prints nothing"


def _marked(pages):
    """The examples of most methods are slow: those of the main ones are enough."""
    main = ("auto", "neural-bo", "neural-cbo", "pinn-bo", "go-ucb", "gp-ei", "random")
    for page in pages:
        is_slow = page.parent.name == "methods" and page.stem not in main
        yield pytest.param(page, marks=pytest.mark.slow if is_slow else ())


@pytest.mark.parametrize(
    "page", list(_marked(p for p in PAGES if blocks(p))), ids=name_of
)
def test_code_of_the_page_runs(page, folder, monkeypatch):
    module = ModuleType("page")  # a real one: dataclasses look themselves up
    monkeypatch.setitem(sys.modules, "page", module)
    lines: list[str] = []
    for block in blocks(page):
        if block.language in ("python", "json") and block.title:
            (folder / block.title).write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            # Blank lines in front, so that a traceback shows the line of the page.
            code = "\n" * block.line + block.code
            exec(compile(code, page, "exec", dont_inherit=True), vars(module))
        elif block.language == "bash":
            lines += block.code.splitlines()
    run_commands(lines, folder)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_code_block_is_seen_by_these_tests(page):
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^\s*```\w", text, re.MULTILINE)) == len(blocks(page))


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example_runs(example, folder, capsys, monkeypatch):
    minimize = wo.minimize

    def brief(*args, n_evals, **settings):
        return minimize(*args, n_evals=min(n_evals, 8), **settings)

    monkeypatch.setattr(wo, "minimize", brief)
    runpy.run_path(str(example), run_name="__main__")
    assert "best objective" in capsys.readouterr().out


def test_readme_has_the_table_of_methods():
    rows = re.findall(
        r"^\| \[`([\w-]+)`\]\(docs/methods/[\w-]+\.md\) \| (.+) \|$",
        README.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert dict(rows) == wo.methods()
    assert [name for name, _ in rows] == list(wo.methods())


def test_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) < 150


@pytest.mark.parametrize("page", [README, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_links_into_the_repository_exist(page):
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


def test_every_method_has_a_page():
    pages = {page.stem: page for page in (DOCS / "methods").glob("*.md")}
    assert set(pages) == set(wo.methods())
    for name, page in pages.items():
        assert page.read_text(encoding="utf-8").startswith(f"# {name}\n")


def test_every_method_is_in_the_guide_to_choosing():
    text = (DOCS / "choosing.md").read_text(encoding="utf-8")
    for name in wo.methods():
        assert f"| [`{name}`](methods/{name}.md)" in text


def test_every_problem_is_listed():
    text = (DOCS / "problems.md").read_text(encoding="utf-8")
    listed = {name for row in re.findall(r"^\|.*`.*\|$", text, re.MULTILINE)
              for name in re.findall(r"`([\w-]+)`", row)}  # fmt: skip
    assert listed == set(wo.problems.names())


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    modules = {"multiagent", "problems", "surrogates"}
    errors = {n for n in wo.__all__ if n.endswith(("Error", "Warning"))}
    for name in set(wo.__all__) - modules - errors:
        assert re.search(rf"^(::: wideopt\.\S*|### ){name}$", text, re.MULTILINE), name


def test_site_builds_without_a_warning(tmp_path):
    python("-m", "mkdocs", "build", "--strict", "-d", str(tmp_path), cwd=ROOT)
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=\"(https?:)?//(fonts|cdn|unpkg)", html)

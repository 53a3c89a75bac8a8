"""The files around the code: what a newcomer installs, what Binder takes, what workflows run."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import colab
import pytest
import yaml
from matrix import CORNERS
from set_repository import point_at

ROOT = Path(__file__).resolve().parents[2]


def requirement_lines() -> list[str]:
    text = (ROOT / "requirements.txt").read_text("utf8")
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", line)[0].lower() for line in requirements}


def imported_by(source: str) -> set[str]:
    """The packages that a piece of Python imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


# --- what is installed ---------------------------------------------------------------------------


def test_every_requirement_has_a_floor_and_none_is_pinned():
    for line in requirement_lines():
        assert ">=" in line, f"{line} has no floor"
        assert "==" not in line, f"{line} is pinned"


def test_the_package_declares_what_it_imports_and_the_book_installs_it_all():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    declared = names(project["dependencies"])
    assert declared == {"torch", "numpy"}
    book = names(project["optional-dependencies"]["book"])
    assert declared | book <= names(requirement_lines())
    imported = set()
    for module in (ROOT / "d2lattn").rglob("*.py"):
        imported |= imported_by(module.read_text("utf8"))
    third_party = imported - set(sys.stdlib_module_names) - {"d2lattn"}
    # ipywidgets brings IPython and traitlets, matplotlib brings Pillow
    brought = {"IPython", "traitlets", "matplotlib_inline", "PIL"}
    assert third_party - brought <= declared | book


def test_pytorch_is_the_same_for_the_readme_and_for_binder():
    (torch,) = (line for line in requirement_lines() if line.startswith("torch"))
    assert f'pip install "{torch}" --index-url' in (ROOT / "README.md").read_text("utf8")
    binder = yaml.safe_load((ROOT / ".binder/environment.yml").read_text("utf8"))["dependencies"]
    assert torch.replace("torch", "pytorch-cpu") in binder


def test_what_the_user_named_is_there():
    assert {"jupyter-book", "torch", "matplotlib", "nbval", "ipywidgets"} <= names(
        requirement_lines()
    )


@pytest.mark.parametrize(
    ("stand_in", "said"),
    [
        ("sys.version_info = (3, 9, 18)", "Python 3.11 or newer"),
        ("sys.platform, platform.machine = 'darwin', lambda: 'x86_64'", "Intel processor"),
    ],
)
def test_a_python_that_cannot_do_gets_one_line(stand_in, said):
    script = f"import platform, sys; {stand_in}\nexec(open('scripts/check_python.py').read())"
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    assert said in run.stderr


def test_a_missing_torch_gets_one_line():
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "try:\n    import d2lattn\nexcept ModuleNotFoundError as e:\n    print(e)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == (
        "d2lattn needs PyTorch; install it with: pip install -r requirements.txt"
    )


def make(*arguments: str, folder: Path = ROOT, **environment: str) -> str:
    if shutil.which("make") is None:
        pytest.skip("make is not here")
    inherited = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


# Says what it was asked for; CODE is how the installation from PyTorch's own index ends.
PYTHON = """#!/bin/sh
echo "$@" >> asked
case "$*" in
"-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*--index-url*) echo "No space left on device" >&2; exit "$CODE" ;;
esac
"""


@pytest.fixture
def install(tmp_path):
    """What make asks pip to install, with and without an NVIDIA driver, and what it says."""
    if sys.platform != "linux" or Path("/proc/driver/nvidia").exists():
        pytest.skip("a Linux machine without an NVIDIA driver is needed")
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()

    def asked(*, code: int = 0, driver: bool = False, **environment) -> tuple[list[str], str]:
        for name in ("python3", "nvidia-smi") if driver else ("python3",):
            (tools / name).write_text(PYTHON)
            (tools / name).chmod(0o755)
        environment["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"
        said = make(".venv/installed", folder=tmp_path, CODE=str(code), **environment)
        lines = (tmp_path / "asked").read_text().splitlines()
        return [line for line in lines if line.startswith("-m pip install")], said

    return asked


@pytest.mark.parametrize("code", [0, 1])
def test_without_a_driver_pytorch_comes_for_the_processor_if_it_can(install, code):
    (torch, everything), said = install(code=code)
    assert "--index-url https://download.pytorch.org/whl/cpu torch>=" in torch
    assert everything.endswith("-r requirements.txt")
    assert ("out of reach" in said) == (code == 1)
    assert ("No space left" in said) == (code == 1)


def test_another_release_of_pytorch_can_be_asked_for(install):
    (torch, _), _ = install(TORCH_RELEASE="torch==2.5.0")
    assert torch.endswith("/cpu torch==2.5.0")


@pytest.mark.parametrize("reason", [{"driver": True}, {"TORCH_INDEX": ""}])
def test_with_a_driver_or_on_demand_pip_chooses_pytorch(install, reason):
    ((everything,), said) = install(**reason)
    assert everything.endswith("-r requirements.txt")
    assert said == ""


# --- Binder --------------------------------------------------------------------------------------


@pytest.fixture
def binder_build(monkeypatch):
    """The build pack that repo2docker itself picks for this checkout, with its rendered steps."""
    pytest.importorskip("repo2docker", reason="pip install -r requirements.txt")
    from repo2docker.app import Repo2Docker

    monkeypatch.chdir(ROOT)
    app = Repo2Docker()
    for pack in app.buildpacks:
        build = pack(app.base_image)
        if build.detect():
            return build
    pytest.fail("repo2docker finds nothing to build")


def test_binder_takes_our_environment(binder_build):
    assert type(binder_build).__name__ == "CondaBuildPack"
    assert binder_build.environment_yaml_path == ".binder/environment.yml"
    assert binder_build.get_post_build_scripts() == [".binder/postBuild"]
    steps = "\n".join(script for _, script in binder_build.get_env_scripts())
    assert ".binder/environment.yml" in steps
    # requirements.txt would bring the CUDA build of PyTorch, and the book's own tools
    everything = steps + "\n".join(script for _, script in binder_build.get_assemble_scripts())
    assert "requirements.txt" not in everything


def test_binder_s_image_is_built_by_steps_that_we_know(binder_build, monkeypatch):
    """What repo2docker hands to Docker: our environment, then our files, then our postBuild."""
    monkeypatch.setattr(binder_build, "platform", "linux/amd64")
    recipe = binder_build.render({})
    lines = [line.strip() for line in recipe.splitlines() if not line.lstrip().startswith("#")]
    text = "\n".join(line for line in lines if line)
    steps = (
        "COPY --chown=1000:1000 src/.binder/environment.yml ${REPO_DIR}/.binder/environment.yml",
        'env update -p ${NB_PYTHON_PREFIX} --file ".binder/environment.yml"',
        "COPY --chown=1000:1000 src/ ${REPO_DIR}/",
        "RUN chmod +x .binder/postBuild",
        "RUN ./.binder/postBuild",
    )
    assert sorted(steps, key=text.index) == list(steps)
    assert "requirements.txt" not in text
    # the reader is nobody special, and so is postBuild
    assert [line for line in lines if line.startswith("USER ")][-1] == "USER ${NB_USER}"


def test_binder_opens_the_questions_where_no_chapter_is_asked_for():
    script = (ROOT / ".binder/postBuild").read_text("utf8")
    settings = [json.loads(text) for text in re.findall(r"echo '(.*)'", script)]
    page = settings[0]["LabApp"]["default_url"]
    assert (ROOT / page.removeprefix("/lab/tree/")).is_file()
    assert settings[1]["@jupyterlab/apputils-extension:notification"] == {"fetchNews": "false"}


def test_outputs_are_trusted_so_that_drawings_stand_there_before_a_run():
    assert "\njupyter trust chapters/*.ipynb chapters/*/*.ipynb" in (
        ROOT / ".binder/postBuild"
    ).read_text("utf8")
    trust, serve = [line for line in make("--dry-run", "lab").splitlines() if "jupyter" in line]
    assert trust.startswith(".venv/bin/jupyter trust chapters/01-attention-cues/")
    assert serve.startswith(".venv/bin/jupyter lab")


def test_binder_asks_for_the_cpu_build_and_no_other(binder_build):
    wanted = [d for d in binder_build.environment_yaml["dependencies"] if isinstance(d, str)]
    assert "pytorch-cpu" in names(wanted)
    assert not names(wanted) & {"torch", "pytorch", "pytorch-gpu", "cudatoolkit"}
    assert binder_build.python_version in {"3.11", "3.12", "3.13"}


def test_binder_has_all_that_the_chapters_import(binder_build):
    conda_names = {"pytorch-cpu": "torch", "matplotlib-base": "matplotlib"}
    wanted = [d for d in binder_build.environment_yaml["dependencies"] if isinstance(d, str)]
    present = {conda_names.get(name, name) for name in names(wanted)}
    imported = set()
    for chapter in (ROOT / "chapters").glob("[0-9]*/*.ipynb"):
        for cell in json.loads(chapter.read_text("utf8"))["cells"]:
            if cell["cell_type"] == "code":
                imported |= imported_by("".join(cell["source"]))
    imported -= set(sys.stdlib_module_names) | {"d2lattn", "IPython"}
    assert imported <= present
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    assert names(project["dependencies"]) <= present
    assert names(project["optional-dependencies"]["book"]) <= present


# --- building and contributing ------------------------------------------------------------------


def test_a_build_that_failed_is_not_taken_up(tmp_path):
    (tmp_path / "_build" / ".doctrees").mkdir(parents=True)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "jupyter-book").symlink_to(shutil.which("false"))
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv" / "installed").touch()
    with pytest.raises(subprocess.CalledProcessError):
        make("book", folder=tmp_path)
    assert not (tmp_path / "_build" / ".doctrees").exists()


def test_tests_meet_a_book_that_is_built_from_nothing():
    commands = make("--dry-run", "test").splitlines()
    assert commands.index("rm -rf _build") < next(
        place for place, command in enumerate(commands) if "jupyter-book build" in command
    )
    assert "jupyter-book build" in make("--dry-run", "browser")


def test_every_module_is_in_the_map_of_rooms():
    rooms = (ROOT / "CONTRIBUTING.md").read_text("utf8").split("## The rooms")[1].split("```")[1]
    modules = {path.name for path in (ROOT / "d2lattn").glob("*.py")} - {"__init__.py"}
    assert modules <= set(re.findall(r"\w+\.py", rooms))


@pytest.mark.parametrize("name", ["README.md", "javascript/build.js", "chapters/the-end.md"])
def test_lines_end_alike_on_every_system(name):
    said = subprocess.run(
        ["git", "check-attr", "text", "eol", "--", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.split("\n")[:2] == [f"{name}: text: auto", f"{name}: eol: lf"]


# --- workflows and publishing --------------------------------------------------------------------

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def jobs() -> dict[str, dict]:
    return yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf8"))["jobs"]


def test_ci_runs_the_command_of_the_readme():
    job = jobs()["test"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    assert any(step.get("run", "").startswith("make test") for step in job["steps"])
    assert (ROOT / ".ci/run").read_text("utf8").rstrip().endswith("make test")
    assert os.access(ROOT / ".ci/run", os.X_OK)


def weekly() -> dict:
    return yaml.safe_load((ROOT / ".github/workflows/weekly.yml").read_text("utf8"))


def test_what_takes_many_minutes_runs_once_a_week():
    assert len(weekly()[True]["schedule"]) == 1
    last = {name: job["steps"][-1]["run"] for name, job in weekly()["jobs"].items()}
    assert last == {
        "trainings": "make weekly",
        "corners": '.venv/bin/python scripts/matrix.py "$CORNER"',
        "packages": "make audit",
        "links": "make links",
    }
    for job in last.values():
        if job.startswith("make "):
            assert make("--dry-run", job.removeprefix("make "))


def test_every_corner_of_the_matrix_is_run_by_a_push_or_once_a_week():
    once_a_week = weekly()["jobs"]["corners"]["strategy"]["matrix"]["corner"]
    with_a_push = jobs()["oldest"]["steps"][-1]["run"].removeprefix("python scripts/matrix.py ")
    pythons = {f"python-{v}" for v in jobs()["test"]["strategy"]["matrix"]["python"]}
    assert {*once_a_week, with_a_push} | pythons & CORNERS.keys() == CORNERS.keys()
    assert with_a_push == "oldest"


def test_newer_packages_are_proposed_for_all_that_is_installed():
    found = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text("utf8"))["updates"]
    assert {one["package-ecosystem"]: one["directory"] for one in found} == {
        "pip": "/",
        "npm": "/javascript",
        "github-actions": "/",
    }
    assert (ROOT / "requirements.txt").exists()
    assert (ROOT / "javascript/package-lock.json").exists()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_fork_s_code_never_meets_a_permission_to_write(path):
    workflow = yaml.safe_load(path.read_text("utf8"))
    # YAML 1.1 reads the key "on" as true. Left out: pull_request_target and workflow_run, which
    # would run a fork's code with our permissions.
    assert set(workflow[True]) <= {"push", "pull_request", "schedule", "workflow_dispatch"}
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        if "write" not in job["permissions"].values():
            assert job["permissions"] == {"contents": "read"}
            continue
        assert job["if"] == "github.event_name == 'push' && github.ref == 'refs/heads/main'"
        # no code of ours or of a package: neither a command nor a checkout
        assert [set(step) & {"run", "uses"} for step in job["steps"]] == [{"uses"}]
        assert job["steps"][0]["uses"].startswith("actions/deploy-pages@")


def test_what_is_published_was_tested_in_the_same_run():
    found = jobs()
    assert found["deploy"]["needs"] == "build"
    assert set(found["build"]["needs"]) == set(found) - {"build", "deploy"}
    assert found["build"]["if"] == found["deploy"]["if"]


def test_make_lint_looks_at_the_workflows():
    commands = make("--dry-run", "lint")
    assert "zizmor --offline --quiet .github" in commands


def test_publishing_fills_in_the_repository_it_runs_from(tmp_path):
    before = (ROOT / "_config.yml").read_text("utf8")
    after = point_at(before, "https://github.com/reader/fork", "trunk")
    assert yaml.safe_load(after)["repository"] == {
        "url": "https://github.com/reader/fork",
        "branch": "trunk",
    }
    changed = [a for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]
    assert len(changed) == 2
    with pytest.raises(SystemExit, match="no repository section"):
        point_at("title: no such section", "https://github.com/reader/fork", "trunk")
    runs = [step["run"] for step in jobs()["build"]["steps"] if "run" in step]
    assert runs[0].startswith('python3 scripts/set_repository.py "$GITHUB_SERVER_URL/$GITHUB_REPO')
    assert runs[1] == "make book"


def test_the_repository_is_named_in_one_place():
    """And in the first cell of notebooks, which is written from there (scripts/colab.py)."""
    config = (ROOT / "_config.yml").read_text("utf8")
    slug = yaml.safe_load(config)["repository"]["url"].split("/", 3)[3]
    tracked = subprocess.run(
        ["git", "grep", "-l", slug], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    for name in set(tracked) - {"_config.yml"}:
        cells = json.loads((ROOT / name).read_text("utf8"))["cells"]
        naming = ["".join(cell["source"]) for cell in cells if slug in json.dumps(cell)]
        assert naming == [colab.source()], name


# --- what comes with a repository -----------------------------------------------------------------


def test_the_citation_and_the_changelog_name_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]["version"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["version"] == version
    assert all("name" in author or "family-names" in author for author in cited["authors"])
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    assert cited["title"] == config["title"]
    assert [author["name"] for author in cited["authors"]] == [config["author"]]
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text("utf8")


def test_a_licence_is_named_everywhere_or_nowhere():
    """It is the owners' to choose; the README says what is missing until then."""
    chosen = any(ROOT.glob("LICEN[CS]E*"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf8"))
    assert ("license" in project) == ("license" in cited) == chosen
    readme = (ROOT / "README.md").read_text("utf8")
    assert ("**None has been chosen yet.**" in readme) != chosen


@pytest.mark.parametrize(
    "path",
    [p for p in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) if p.stem != "config"],
    ids=lambda path: path.stem,
)
def test_a_form_for_an_issue_asks_what_can_be_answered(path):
    form = yaml.safe_load(path.read_text("utf8"))
    assert form.keys() >= {"name", "description", "body"}
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names)
    for part in form["body"]:
        assert part["type"] in {"input", "textarea", "dropdown"}
        assert part["attributes"]["label"]
        assert bool(part["attributes"].get("options")) == (part["type"] == "dropdown")
    assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_the_package_page_has_the_checks_of_every_chapter():
    page = (ROOT / "reference/api.md").read_text(encoding="utf-8")
    chapters = sorted((ROOT / "d2lattn/book/exercises").glob("chapter*.py"))
    assert len(chapters) > 10
    for path in chapters:
        assert f".. automodule:: d2lattn.book.exercises.{path.stem}\n" in page

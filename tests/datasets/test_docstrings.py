import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

import pytest

from taxocaps.datasets.docstrings import STANDARD_LIBRARY, Docstring, package_folder, read_docstrings

SOURCES = {
    "__init__.py": '"""The package."""\nraise SystemExit("nothing may be imported")\n',
    "linalg/__init__.py": '"""Linear algebra."""',
    "linalg/_norms.py": (
        '"""Private module."""\ndef norm():\n    """The norm."""\n    def inner():\n        """No."""\n'
    ),
    "shapes.py": (
        'class Box:\n    """A box."""\n    def open(self):\n        """Open it."""\n'
        '    def _lid(self):\n        """No."""\n'
        '    def __len__(self):\n        """Size."""\n    class Label:\n        """A label."""\n'
        'class _Hidden:\n    """No."""\n    def f(self):\n        """No."""\nasync def wait():\n    """Wait."""\n'
    ),
    "escapes.py": 'def f():\n    """A \\d escape."""\n    return "\\d"\n',
    "_internals/deep.py": '"""No."""',
    "linalg/_inner/deep.py": 'def g():\n    """Deep."""\n',
    "tests/test_a.py": '"""No."""',
    "externals/copy.py": '"""No."""',
    "not-a-package/x.py": '"""No."""',
    "broken.py": '"""No."""\ndef f(:\n',
    "nul.py": '"""No.\0"""',
    "latin.py": b'"""No \xff."""',
    "data.txt": '"""No."""',
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name, content in SOURCES.items():
        path = tmp_path / "pydocs_sample" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "pydocs_sample" / "gone.py").symlink_to(tmp_path / "nowhere.py")
    monkeypatch.syspath_prepend(tmp_path)
    return "pydocs_sample"


def test_public_docstrings_with_names_and_places(package):
    base, linalg = (package,), (package, "linalg")
    shapes = (package, "shapes")
    assert list(read_docstrings(package, 1)) == [
        Docstring(package, base, "The package."),
        Docstring(f"{package}.escapes.f", (package, "escapes"), r"A \d escape."),
        Docstring(f"{package}.shapes.Box", shapes, "A box."),
        Docstring(f"{package}.shapes.Box.open", shapes, "Open it."),
        Docstring(f"{package}.shapes.Box.__len__", shapes, "Size."),
        Docstring(f"{package}.shapes.Box.Label", shapes, "A label."),
        Docstring(f"{package}.shapes.wait", shapes, "Wait."),
        Docstring(f"{package}.linalg", linalg, "Linear algebra."),
        Docstring(f"{package}.linalg._norms", linalg, "Private module."),
        Docstring(f"{package}.linalg.norm", linalg, "The norm."),
        Docstring(f"{package}.linalg.g", linalg, "Deep."),
    ]


def test_folders_and_files_come_in_the_order_of_their_names(tmp_path, monkeypatch):
    names = [f"m{number:02d}" for number in range(20)]
    for name in [*names[1::2], *names[::2]]:
        for path in (tmp_path / "pydocs_order" / name / "__init__.py", tmp_path / "pydocs_order" / f"{name}x.py"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'"""About {path.name}."""')
    monkeypatch.syspath_prepend(tmp_path)
    found = [docstring.place[1] for docstring in read_docstrings("pydocs_order", 1)]
    assert found == [*(f"{name}x" for name in names), *names]


def test_short_ones_are_left_out(package):
    assert [docstring.text for docstring in read_docstrings(package, 3)] == [r"A \d escape."]


def test_warnings_about_foreign_sources_do_not_come_out(package):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(read_docstrings(package, 1))


def test_the_standard_library_is_one_package():
    assert package_folder(STANDARD_LIBRARY) == Path(sysconfig.get_path("stdlib"))


def test_what_is_not_installed_has_no_folder():
    assert package_folder("no_such_package_at_all") is None
    assert list(read_docstrings("no_such_package_at_all", 1)) == []
    assert package_folder("this") is None  # a single file, not a package


def test_nothing_is_imported():
    program = (
        "import sys\n"
        "from taxocaps.datasets.docstrings import package_folder, read_docstrings\n"
        "assert package_folder('torch') and list(read_docstrings('networkx', 20))\n"
        "sys.exit('torch' in sys.modules or 'networkx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

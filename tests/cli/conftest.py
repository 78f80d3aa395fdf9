import pytest

from taxocaps.cli.main import main


@pytest.fixture
def run(capsys):
    """Run the command line in this process; returns its exit code, standard output and standard error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return call


@pytest.fixture
def check_refused():
    """Make sure that a command ended with one line on standard error, which holds all `parts`, and with code 2."""

    def check(ended, *parts):
        code, out, err = ended
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        for part in parts:
            assert part in err

    return check

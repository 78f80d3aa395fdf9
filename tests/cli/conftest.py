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

"""`python -m taxocaps` is the command line, too."""

from taxocaps.cli.main import main

if __name__ == "__main__":
    main()

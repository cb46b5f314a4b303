"""`python -m momentree` is the command line."""

from momentree.cli import main

if __name__ == "__main__":
    main()

"""`python -m tlxify`: the command, where scripts are not on the path."""

from .cli import main

if __name__ == "__main__":
    main()

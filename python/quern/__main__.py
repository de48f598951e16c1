"""python -m quern: the command."""

from _quern_command import main

if __name__ == "__main__":
    main()

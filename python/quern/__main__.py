"""python -m quern: the command."""

from _quern_command import main  # type: ignore[import-untyped]

if __name__ == "__main__":
    main()

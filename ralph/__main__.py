"""Console script ``ralph`` and ``python -m ralph``."""


def main() -> None:
    """Run the command line."""


if __name__ == "__main__":
    main()

"""`python -m docs.make`: bring the generated parts of docs/ up to date."""

from docs.make.pages import DOCS, PAGES, PICTURES, find_outdated


def main() -> None:
    """Write what is out of date, and print the names of these files."""
    PICTURES.mkdir(exist_ok=True)
    for path in PAGES:
        for file, content in list(find_outdated(path)):
            print(file.relative_to(DOCS.parent))
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content)


if __name__ == "__main__":
    main()

"""`python -m bentham` is `bentham`."""

from bentham.cli import main

main()

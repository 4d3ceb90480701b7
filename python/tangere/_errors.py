"""Exceptions of the package."""


class Error(RuntimeError):
    """What the engine refuses, with where: status (code of the C library), file, line, element ('' and 0 when unknown)."""

    def __init__(self, text: str, status: int = 0, file: str = "", line: int = 0, element: str = "") -> None:
        super().__init__(text)
        self.status, self.file, self.line, self.element = status, file, line, element

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        return where + str(self.args[0])


class NotConverged(Error):
    """A step's solver did not converge; nothing was changed."""

"""Exceptions of the package."""


class Error(RuntimeError):
    """What the engine refuses, with where: status (code of the C library), file, line, element ('' and 0 when unknown)."""

    def __init__(self, text, status=0, file="", line=0, element=""):
        super().__init__(text)
        self.status, self.file, self.line, self.element = status, file, line, element

    def __str__(self):
        where = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        return where + self.args[0]


class NotConverged(Error):
    """A step's solver did not converge; nothing was changed."""

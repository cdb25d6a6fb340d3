"""Which of the project's modules count for a program's digest."""

from bottomup.plan import digest


def imported(script: str, *modules: str) -> list[str]:
    """The project's modules that `script` and `modules` import, directly or not, and `modules`,
    sorted. Those in `SHOWN` are left out, with what only they import."""
    names = digest._modules(script, modules)
    return [name for name in names if name.partition(".")[0] == digest.PACKAGE]

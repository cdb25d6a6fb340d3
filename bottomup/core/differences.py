"""What differs between two settings of a program, in words."""

from collections.abc import Iterator

# Keys of settings. CODE has digests of code by file, and versions by package; INPUTS and OUTPUTS
# have digests of the paths of a job's files, PARAMS of its other params.
CODE, INPUTS, OUTPUTS, PARAMS = "code", "inputs", "outputs", "params"
# What a phrase says behind the names of those that changed.
OF_JOB = {INPUTS: ", or their order", OUTPUTS: ", or their order", PARAMS: ""}


def differences(before: dict, now: dict) -> list[str]:
    """A phrase for each changed value: `options.choose 0.15 -> 0.4`,
    `code: bottomup/measures/kmeans.py`, `package: torch 2.13.0 -> 2.14.0`, `inputs: which views, or
    their order`."""
    before, now = before.copy(), now.copy()
    code_before, code_now = (settings.pop(CODE, None) or {} for settings in (before, now))
    of_job = {key: [some.pop(key, None) or {} for some in (before, now)] for key in OF_JOB}
    phrases = [_change(*changed) for changed in _changed(before, now)]
    for name, old, new in _changed(code_before, code_now):
        is_file = "." in name  # no normalized name of a package has a period
        phrases.append(f"code: {name}" if is_file else f"package: {_change(name, old, new)}")
    for key, (old, new) in of_job.items():
        if names := [name for name, *_ in _changed(old, new)]:
            phrases.append(f"{key}: which {', '.join(names)}{OF_JOB[key]}")
    return phrases


def _changed(before: dict, now: dict, path: str = "") -> Iterator[tuple[str, object, object]]:
    for key in [*before, *(key for key in now if key not in before)]:
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changed(old, new, f"{path}{key}.")
        elif old != new:
            yield f"{path}{key}", old, new


def _change(path: str, old: object, new: object) -> str:
    if old is None or new is None:
        return f"{path} {'added' if old is None else 'removed'}"
    return f"{path} {old} -> {new}"

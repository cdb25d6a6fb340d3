"""A GPU that is none: tensors that compute on the CPU and behave as if they were elsewhere.

Which storages are on the pretend device is kept in a table, so that views, gradients and what
`detach` gives are there with what they are of. Each operation is looked at before it computes, and
is refused where a GPU would refuse it: operands on two devices, an array made of a tensor that is
elsewhere, random numbers by a generator of the CPU's, float64 on MPS. Whole programs run to their
end, and write what they write on the CPU.

What only a real GPU shows is not seen: operations that its kernels lack, their rounding and order
of additions, memory, speed, what goes on before the CPU has waited for it; nor what stays below
PyTorch's dispatcher, as gradients that are given by hand.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps

import pytest
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

CPU = torch.device("cpu")
REAL_DEVICE = torch._C.TensorBase.device
COPIES = {"aten::copy_", "aten::set_"}
# Their indices may be on the CPU.
INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
FACTORIES = ("zeros", "ones", "empty", "full", "arange", "linspace", "eye")
FACTORIES += ("rand", "randn", "randint", "randperm", "normal", "zeros_like", "ones_like")
FACTORIES += ("empty_like", "full_like", "rand_like", "randn_like", "randint_like")
NEW = ("new_zeros", "new_ones", "new_empty", "new_full")
# With what is computed number by number, operations that take a number on the CPU.
TAKE_NUMBERS = {"aten::fill_", "aten::masked_fill", "aten::masked_fill_", *INDEXING}


# Programs, with their tables, that choose modules for runs of ours and for checkpoints.
BY_TASK = {
    "prune_heads": "predictor",
    "measure pruning": "judging",
    "measure head_importance": "importances",
}


def program_of(name: str, settings: dict) -> str:
    """A program with these settings, as tests are marked with it: "measure pruning runs"."""
    program = f"{name} {settings.get('table', '')}".strip()
    if program not in BY_TASK:
        return program
    run = settings["options"]["run"] if name == "measure" else settings
    return f"{program} {'checkpoints' if run['module'] is None else 'runs'}"


class Storages:
    """Storages of tensors, so that a view is in if what it views is."""

    def __init__(self):
        # An address is not used again as long as there is a reference, even a weak one.
        self.found: dict[int, StorageWeakRef] = {}

    def __contains__(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self.found

    def add(self, tensor: Tensor) -> None:
        if tensor not in self:
            storage = tensor.untyped_storage()
            self.found[storage._cdata] = StorageWeakRef(storage)
        if len(self.found) > 20_000:
            self.found = {at: weak for at, weak in self.found.items() if not weak.expired()}

    def discard(self, tensor: Tensor) -> None:
        self.found.pop(tensor.untyped_storage()._cdata, None)


class Made(threading.local):
    """Whether what is made now is asked for in Python, and not by PyTorch for itself."""

    in_python = False


class Pretend(TorchDispatchMode):
    """While it lasts, operations compute where their tensors pretend to be; see `pretend_gpu`.

    used: how many operations were on the pretend device.
    """

    def __init__(self, kind: str):
        super().__init__()
        self.device, self.used = torch.device(kind, 0), 0
        self.there, self.anywhere = Storages(), Storages()
        self.made = Made()

    def has(self, tensor: Tensor) -> bool:
        """Whether a tensor is on the pretend device."""
        return tensor in self.there

    def place(self, tensor: Tensor) -> torch.device:
        return self.device if self.has(tensor) else REAL_DEVICE.__get__(tensor)

    def is_pretended(self, device: torch.device | str | int | None) -> bool:
        return device is not None and torch.device(device).type == self.device.type

    def put(self, tensor: Tensor) -> Tensor:
        """A tensor, said to be on the pretend device."""
        if self.device.type == "mps" and tensor.dtype == torch.float64:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        self.there.add(tensor)
        self.anywhere.discard(tensor)
        return tensor

    def moved(self, tensor: Tensor, device: torch.device | str | int | None) -> Tensor:
        """A tensor there: itself, or a copy, through which gradients flow."""
        if device is None or self.is_pretended(device) == self.has(tensor):
            return tensor
        copy = tensor.clone()
        if self.is_pretended(device):
            return self.put(copy)
        self.there.discard(copy)
        return copy

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs, of = dict(kwargs or {}), _traits(function)
        given = [
            (parameter, x)
            for parameter, value in [*zip(of.names, args, strict=False), *kwargs.items()]
            for x in _tensors(value)
        ]
        there = any(self.has(x) for _, x in given)
        if there and not of.copies:
            self.refuse_several_devices(of, given)
        asked = kwargs.get("device")
        if self.is_pretended(asked):
            there, kwargs["device"] = True, CPU
        elif asked is not None:
            there = False
        if there:
            self.used += 1
            if kwargs.get("generator") is not None:
                kind = self.device.type
                raise RuntimeError(f"Expected a '{kind}' device type for generator but found 'cpu'")
        found = function(*args, **kwargs)
        # PyTorch makes constants where it believes the tensors to be: on the CPU.
        of_its_own = not self.made.in_python and (
            asked is not None or all(x in self.anywhere for _, x in given)
        )
        for x in () if of.copies else _tensors(found):
            if there:
                self.put(x)
            elif of_its_own:
                self.anywhere.add(x)
        return found

    def refuse_several_devices(self, of: "Traits", given: list[tuple[str, Tensor]]) -> None:
        """Raises RuntimeError for what CUDA would not compute."""
        there = [self.has(x) or x in self.anywhere for _, x in given]
        for (parameter, x), is_there in zip(given, there, strict=True):
            if is_there or (of.indexes and parameter == "indices" and there[0]):
                continue
            if x.dim() or parameter in of.written or not of.takes_numbers:
                raise RuntimeError(
                    "Expected all tensors to be on the same device, but found at least two "
                    f"devices, {self.device} and cpu! ({parameter} of {of.name})"
                )


@dataclass(frozen=True)
class Traits:
    """Of an operation: its parameters, those that it writes to, and what it takes."""

    name: str
    names: list[str]
    written: set[str]
    copies: bool
    indexes: bool
    takes_numbers: bool


@cache
def _traits(function) -> Traits:
    name, parameters = function._schema.name, function._schema.arguments
    return Traits(
        name,
        [parameter.name for parameter in parameters],
        {p.name for p in parameters if p.alias_info is not None and p.alias_info.is_write},
        name in COPIES,
        name in INDEXING,
        name in TAKE_NUMBERS or torch.Tag.pointwise in function.tags,
    )


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


@contextmanager
def pretend_gpu(kind: str = "cuda") -> Iterator[Pretend]:
    """A machine with one device of a kind, "cuda" or "mps", as far as Python can see."""
    mode = Pretend(kind)
    with pytest.MonkeyPatch.context() as patch, mode:
        _patch_tensors(patch, mode)
        _patch_factories(patch, mode)
        _patch_autocast(patch, kind)
        # Called from C++ where a device is asked for first.
        patch.setattr(torch.cuda, "_lazy_init", lambda: None)
        patch.setattr(torch.cuda, "is_available", lambda: kind == "cuda")
        patch.setattr(torch.cuda, "device_count", lambda: int(kind == "cuda"))
        patch.setattr(torch.cuda, "get_device_capability", lambda device=None: (8, 0))
        patch.setattr(torch.backends.mps, "is_available", lambda: kind == "mps")
        patch.setenv("CUBLAS_WORKSPACE_CONFIG", "")  # and afterwards as it was
        patch.delenv("CUBLAS_WORKSPACE_CONFIG")
        try:
            yield mode
        finally:
            torch.use_deterministic_algorithms(False)


def _patch_tensors(patch: pytest.MonkeyPatch, mode: Pretend) -> None:
    """What tells where a tensor is, and what brings it elsewhere."""
    move, array, copied = Tensor.to, Tensor.numpy, Tensor.__deepcopy__

    def to(self, *args, **kwargs):
        other = args[0] if args else kwargs.get("other")
        if isinstance(other, Tensor):
            return mode.moved(move(self, other.dtype), other.device)
        device, dtype, _, memory = torch._C._nn._parse_to(*args, **kwargs)
        elsewhere = not (device is None or device.type == "cpu" or mode.is_pretended(device))
        if elsewhere or dtype is not None or memory is not None:
            self = move(
                self,
                device if elsewhere else None,
                dtype or self.dtype,
                memory_format=memory or torch.preserve_format,
            )
        return mode.moved(self, device)

    def numpy(self, *, force=False):
        if mode.has(self) and not force:
            raise TypeError(
                f"can't convert {mode.device} device type tensor to numpy. Use Tensor.cpu() to "
                "copy the tensor to host memory first."
            )
        return array(self, force=force)

    def pin_memory(self, device=None):
        if mode.has(self):
            raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
        return self.clone()

    def deepcopy(self, memo):
        copy = copied(self, memo)
        return mode.put(copy) if mode.has(self) else copy

    patch.setattr(Tensor, "device", property(mode.place))
    patch.setattr(Tensor, "is_cpu", property(lambda self: not mode.has(self)))
    patch.setattr(Tensor, f"is_{mode.device.type}", property(mode.has))
    patch.setattr(Tensor, "get_device", lambda self: 0 if mode.has(self) else -1)
    patch.setattr(Tensor, "to", to)
    patch.setattr(Tensor, "cpu", lambda self, *_: mode.moved(self, CPU))
    patch.setattr(Tensor, "cuda", lambda self, device="cuda", *_: mode.moved(self, device))
    patch.setattr(Tensor, "pin_memory", pin_memory)
    patch.setattr(Tensor, "numpy", numpy)
    patch.setattr(Tensor, "__deepcopy__", deepcopy)


def _patch_factories(patch: pytest.MonkeyPatch, mode: Pretend) -> None:
    """What makes tensors, of which some copy to a device without asking the dispatcher."""

    def made(factory):
        @wraps(factory)
        def make(*args, **kwargs):
            mode.made.in_python = True
            try:
                return factory(*args, **kwargs)
            finally:
                mode.made.in_python = False

        return make

    def brought(factory):
        def bring(data, *args, device=None, **kwargs):
            if device is None and isinstance(data, Tensor):
                device = data.device
            return mode.moved(factory(data, *args, **kwargs), device)

        return bring

    # `torch.device` as a context knows them by what they are now.
    _device_constructors()
    for name in FACTORIES:
        patch.setattr(torch, name, made(getattr(torch, name)))
    for name in NEW:
        patch.setattr(Tensor, name, made(getattr(Tensor, name)))
    patch.setattr(Tensor, "new_tensor", brought(made(Tensor.new_tensor)))
    for name in ("tensor", "as_tensor", "asarray"):
        patch.setattr(torch, name, brought(made(getattr(torch, name))))


def _patch_autocast(patch: pytest.MonkeyPatch, kind: str) -> None:
    """The CPU's autocast stands for the device's, with some other operations in it."""
    known = {kind: "cpu"}

    class Autocast(torch.autocast):
        def __init__(self, device_type, *args, **kwargs):
            super().__init__(known.get(device_type, device_type), *args, **kwargs)

    patch.setattr(torch, "autocast", Autocast)
    for name in ("get_autocast_dtype", "is_autocast_enabled"):
        real = getattr(torch, name)
        patch.setattr(torch, name, lambda x, real=real: real(known.get(x, x)))

"""What waits for a GPU until it has done all before it, told by the calls, without one."""

from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# That read a number from the device, or give a result whose size depends on what is computed.
READING = {
    "aten::_local_scalar_dense",
    "aten::equal",
    "aten::nonzero",
    "aten::masked_select",
    "aten::repeat_interleave.Tensor",
    "aten::_unique2",
    "aten::unique_dim",
}


class Calls(TorchDispatchMode):
    """Counts of operations: of all, and of each that waits."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.name()
        self.counts["all"] += 1
        if name in READING or by_mask(name, args):
            self.counts[f"waits: {name}"] += 1
        return function(*args, **kwargs or {})


def by_mask(name: str, args: tuple) -> bool:
    """Whether rows are chosen by a mask, of which the device alone knows how many it has."""
    if not name.startswith(("aten::index.", "aten::index_put", "aten::_index_put_impl")):
        return False
    return any(index is not None and index.dtype == torch.bool for index in args[1])

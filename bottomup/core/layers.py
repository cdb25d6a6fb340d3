"""Layers of models of different depth, by their number from 0, the embeddings, to the top."""


def layer_at_depth(layer: int, depth: int, other_depth: int) -> int:
    """The layer of a model of `other_depth` layers at the relative depth of `layer` of `depth`: the
    nearest; of two equally near ones, the upper.

    >>> [layer_at_depth(layer, 6, 3) for layer in range(7)]
    [0, 1, 1, 2, 2, 3, 3]
    """
    return (2 * layer * other_depth + depth) // (2 * depth)


def depths(layers: int, count: int) -> list[int]:
    """`count` layers that are equally far apart, the top among them; none twice."""
    return sorted({layer_at_depth(step, count, layers) for step in range(1, count + 1)} - {0})

"""Combine the importance and the functions of each attention head: a row for each function it has.

Settings: none.
Inputs:   the tables head_importance and head_functions of all runs.
Outputs:  the table heads. A head without a function has one row; so has each decoder head, since
          decoder heads are not tested for functions.
"""

import argparse

from bottomup.plan import program
from bottomup.core.files.tables import read_table, write_table

HEAD = ["objective", "seed", "attention", "layer", "head"]
IMPORTANCES = [
    *("confidence", "special", "relevance", "relevance_ratio", "gradient", "loss_increase"),
]
FUNCTION = {"accuracy": "function_accuracy"}


def main(arguments: argparse.Namespace) -> None:
    importance = read_table(arguments.importance)
    heads = importance.pivot(index=HEAD, columns="importance", values="value")
    heads = heads.rename(columns={"relevance_alpha_beta": "relevance"})
    heads = heads.reindex(columns=IMPORTANCES).reset_index()
    functions = read_table(arguments.functions).query("held").rename(columns=FUNCTION)
    functions = functions[[*HEAD, "function", "function_accuracy", "baseline_accuracy"]]
    write_table(heads.merge(functions, on=HEAD, how="left"), arguments.table)


if __name__ == "__main__":
    program.run(main, program.parser(__doc__, "importance", "functions", "table"))

"""What a user sees of a long run: a bar on a terminal, a line now and then in a log."""

import logging
import sys
import time

from tqdm import tqdm

from bottomup.training import distributed

log = logging.getLogger(__name__)


class Meter:
    """Shows tokens read, tokens per second and losses. Times are shown only, never in a result."""

    def __init__(self, done: int, total: int):
        self.bar = tqdm(
            initial=done,
            total=total,
            unit="tok",
            unit_scale=True,
            disable=not sys.stderr.isatty() or distributed.rank() > 0,
        )
        self.started, self.first = time.monotonic(), done

    def show(self, tokens: int) -> None:
        """Call it after each update."""
        self.bar.update(tokens - self.bar.n)

    def evaluated(self, metrics: dict) -> None:
        """Call it after each evaluation on the dev split, with its line of metrics."""
        losses = {name: f"{metrics[f'{name}_loss_nats']:.3f}" for name in ("train", "dev")}
        self.bar.set_postfix(losses, refresh=False)
        if self.bar.disable:
            speed = (metrics["tokens"] - self.first) / (time.monotonic() - self.started)
            log.info(
                "%s of %s tokens, %d tokens/s, train loss %.3f, dev loss %.3f nats",
                f"{metrics['tokens']:,}",
                f"{self.bar.total:,}",
                speed,
                metrics["train_loss_nats"],
                metrics["dev_loss_nats"],
            )

    def close(self) -> None:
        """End the bar and leave it on the terminal."""
        self.bar.close()

"""Training: batches, schedule, loop, checkpoint and resume, quality."""

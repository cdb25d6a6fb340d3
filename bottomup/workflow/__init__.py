"""What the Snakefile needs: the config, its slices, code digests, GPU locks, reasons."""

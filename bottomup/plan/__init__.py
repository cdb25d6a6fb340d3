"""The study as Snakemake sees it: config, subjects, slices, digests, reasons, progress; and what
its jobs share: the frame of a program, and the check that it runs what was planned."""

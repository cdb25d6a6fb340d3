"""What the Snakefile needs: the config's models, code digests, resources."""

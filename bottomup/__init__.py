"""What a training objective does to the representations and heads of a Transformer."""

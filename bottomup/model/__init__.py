"""The Transformer: encoder, decoder, attention with head gates, beam search."""

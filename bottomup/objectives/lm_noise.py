"""Language modeling with token dropout: some of the tokens that the model reads are random."""

from pydantic import Field

from bottomup.objectives import Example, Question, Variant, lm, with_random_tokens


class Objective(lm.Objective):
    """Predict the true next token after tokens that are partly random (evolution, influence)."""

    variant = Variant("lm", Question.TOKEN_DROPOUT)

    replace: float = Field(0.1, gt=0, le=1, description="share of tokens read as any token")

    def example(self, source, target, vocab_size, rng) -> Example:
        true = super().example(source, target, vocab_size, rng)
        return Example(with_random_tokens(source, self.replace, vocab_size, rng), None, true.labels)

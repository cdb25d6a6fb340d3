"""Machine translation with token dropout: some of the source tokens are random."""

from pydantic import Field

from bottomup.objectives import Example, Question, Variant, mt, with_random_tokens


class Objective(mt.Objective):
    """Predict the true translation of a source with tokens replaced (evolution, influence)."""

    variant = Variant("mt", Question.TOKEN_DROPOUT)

    replace: float = Field(0.1, gt=0, le=1, description="share of tokens read as any token")

    def example(self, source, target, vocab_size, rng) -> Example:
        read = with_random_tokens(source, self.replace, vocab_size, rng)
        return super().example(read, target, vocab_size, rng)

"""All claims, in the order of the papers."""

from bottomup.claims import beyond, evolution, field, heads

CLAIMS = [*evolution.CLAIMS, *heads.CLAIMS, *beyond.CLAIMS, *field.CLAIMS]

"""Facts × target → Plan, or a refusal: the ways to organise the warps."""

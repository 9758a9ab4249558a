"""The state of a scheduler: studies, blocks of arms, running trials."""

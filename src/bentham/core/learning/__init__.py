"""The learned prior, which is updated while serving. Derivation: docs/learning.md."""

"""A prior that is learned, and learned on while serving. docs/learning.md derives it."""

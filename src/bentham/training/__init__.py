"""Training on real data: what is in a file, which models there are, and how one is judged."""

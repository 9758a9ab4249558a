"""Training on real data: inspecting files, the catalogue of models, and evaluating them."""

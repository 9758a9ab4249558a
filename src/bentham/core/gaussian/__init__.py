"""Gaussian processes: priors, posteriors, and expected improvement."""

"""Shared test helpers: servers, browsers, workers and data.

Each test directory is named after the part of Bentham that it tests, and imports only what it
needs from here.
"""

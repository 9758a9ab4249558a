"""The HTTP API of the service. Every request is untrusted until it is parsed."""

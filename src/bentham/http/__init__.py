"""The API: HTTP around the service. Every request is hostile until it is parsed."""

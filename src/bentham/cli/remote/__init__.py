"""Commands that talk to a running server over HTTP; each module is imported on first use."""

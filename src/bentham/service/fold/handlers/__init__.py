"""How each event changes what is known, by what it is about."""

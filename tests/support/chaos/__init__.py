"""Chaos tests of the live service: real processes are killed while real workers run trials.

server    instances of `bentham serve`, and other commands, as processes to kill, stop and continue
proxy     between workers and servers: records every response, and can delay, drop and duplicate
ledger    the responses of the servers as the proxy recorded them; each one is a commitment
fleet     workers and tenants, including the real `bentham worker`
arena     all of these together, with operations that inject faults
fires     the fault scenarios
judge     checks what must hold when all work is done
sameness  compares two states bit by bit
"""

"""The live service under fire: real processes killed while real workers ask and report.

server   instances of `bentham serve`, and other commands, as processes to kill, stop and continue
proxy    stands between workers and servers: hears every answer, and may delay, cut and double
ledger   what the servers have answered, as the proxy heard it: promises that bind
fleet    workers and tenants, the product's own `bentham worker` among them
arena    all of these put together, and the ways to set fire to them
judge    what must hold when the fire is out
"""

"""The live service: real time, an event log, and the scheduler of the core, driven by requests.

Pool      everything that is known: a fold over the log
commands  what somebody asks for -> events, or a refusal
Engine    commits events in batches, and answers only what is committed
"""

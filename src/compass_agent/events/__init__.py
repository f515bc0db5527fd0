"""Inner events: what an agent does, as frozen classes, and their decoding from canonical JSON.

`decode(value)` turns the canonical JSON object of the pi and oh-my-pi agents into a class; it takes
any value and never raises.
"""

"""The flight recorder: the last seconds of a running trace in memory, and files of its moments."""

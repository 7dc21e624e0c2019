"""The tests: imported before any of them, and before NumPy."""

import os

# As load_command() has it. With a thread for each CPU in each worker, they wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

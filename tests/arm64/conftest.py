"""These fetch another machine's files and boot it: only make test-arm64 asks for them."""

collect_ignore = ["test_build.py", "test_boot.py"]

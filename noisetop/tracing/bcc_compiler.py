"""Compiles a unit with BCC. noisetop.tracing.bcc runs it in an interpreter that has BCC.

Takes ``{"text", "flags", "functions"}`` as JSON, writes the machine code of the functions as JSON:
``{name: hexadecimal}``. What the compiler has to say goes to stderr.
"""

import json
import sys


def main() -> int:
    """The exit status is 1 where the text does not compile."""
    from bcc import BPF  # type: ignore[import-not-found]

    unit = json.load(sys.stdin)
    try:
        module = BPF(text=unit["text"], cflags=unit["flags"])
    except Exception as error:  # noqa: BLE001 - BCC raises nothing more special
        print(error, file=sys.stderr)
        return 1
    json.dump({name: module.dump_func(name).hex() for name in unit["functions"]}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

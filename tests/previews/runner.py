"""Runs the functions test_… of a module, each with a house."""

import signal
import sys
import traceback


def run(module, house, word):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is ended, too
    passed = failed = 0
    for name, test in list(vars(module).items()):
        if not name.startswith("test_") or word not in name:
            continue
        try:
            test(house)
            passed += 1
            print(f"ok   {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
    print(f"{passed + failed} cases: {passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0

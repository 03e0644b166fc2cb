"""Prepares the process of all tests."""

import signal

# A script that starts the tests in its background lets them ignore Ctrl-C, and all programs that they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

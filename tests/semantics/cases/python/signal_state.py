import signal

for number in sorted(signal.valid_signals()):
    handler = signal.getsignal(number)
    name = getattr(handler, "__name__", None) or str(handler)
    print(int(number), name)
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())
with open("/proc/self/status") as status:
    print("".join(line for line in status if line.startswith(("Sig", "Shd")) and not line.startswith("SigQ")))

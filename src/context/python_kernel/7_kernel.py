# --- the surroundings of the user's code --------------------------------------------------------------------------


def refuse_input(prompt=""):
    """In place of input()."""
    raise StdinNotImplementedError("input() has nobody to ask in a context; put the value into the code")


def leave(*code):
    """In place of exit() and quit(), which would close stdin."""
    raise SystemExit(*code)


def interruptible_system(command):
    """As os.system(), which does not listen to SIGINT before the command has ended."""
    status = import_own("subprocess").call(command, shell=True, close_fds=False)
    return status << 8 if status >= 0 else -status


def ignore_warnings(message):
    warnings.filterwarnings("ignore", message)


def prepare_interpreter():
    """As it is at an interactive prompt in the current folder."""
    sys.argv = [""]
    builtins.print = stand_for(print_whole, print)
    builtins.input = stand_for(refuse_input, input)
    builtins.exit = builtins.quit = leave
    os.system = stand_for(interruptible_system, os.system)


def make_main_module():
    """The user's __main__; ours goes on without a name."""
    module = types.ModuleType("__main__")
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    return module


# --- the kernel ---------------------------------------------------------------------------------------------------


class Kernel:
    def __init__(self):
        self.is_child = False  # a fork of the user's code
        self.count = 0
        self.clears_next = False  # with the next result, those before it go
        self.complaint = ""  # for the first execution
        supervisor = split_in_two()
        self.channel = Channel(supervisor)
        self.interrupts = Interrupts(self.channel.has_request)
        self.channel.interrupts = self.interrupts
        put_null_on_stdin()
        self.output = Output(supervisor)
        self.loop = EventLoop(self.interrupts)
        self.figures = Figures(lambda bundle: self.engine.publish(bundle))
        os.register_at_fork(after_in_child=self._become_child)

    def start(self):
        self.interrupts.install()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        prepare_interpreter()
        self.figures.watch()
        self.engine = make_engine(self, make_main_module())
        version = ".".join(str(number) for number in sys.version_info[:3])
        self.channel.send_message(
            {"type": "ready", "language": "python", "version": version, "engine": self.engine.name}
        )
        self.output.use_c_library()
        sys.path.insert(0, "")  # only now: none of the user's files is to be taken for one that was needed until here

    def serve(self):
        while True:
            if not self.channel.has_unread():
                self.loop.run_until_readable(self.channel.requests)
            request = self.channel.request()
            if request is None or request.get("type") == "shutdown":
                return
            if request.get("type") == "execute":
                self.execute(str(request.get("id", "")), str(request.get("code", "")))

    def execute(self, id, code):
        self.interrupts.begin()
        self.channel.begin(id)
        self.count += 1
        self.clears_next = False
        self._complain()
        error = self._outcome(self.engine.run, code, self.count)
        if self.is_child:
            leave_child(error)
        error = first_error(error, self._outcome(self.figures.finish), self._outcome(self.output.flush))
        self.output.repair()
        repair_stdin()
        if error is not None:
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
            self.channel.send("error", **self._description(error))
        others_wait = self.channel.has_request()
        self.channel.send("done", count=self.count, status=self._status(error))
        self.interrupts.end(others_wait)

    def _complain(self):
        if self.complaint:
            print(self.complaint, file=sys.stderr)
            self.complaint = ""

    def _description(self, error):
        """It is the user's code that describes an error, so it may be interrupted."""
        try:
            return self.interrupts.call(describe_error, error)
        except BaseException:
            return describe_plainly(error)

    def _outcome(self, function, *arguments):
        """None or the error that ended it."""
        try:
            self.interrupts.call(function, *arguments)
            return None
        except BaseException as error:
            return self._as_interrupt(error)

    def _as_interrupt(self, error):
        """An awaiting cell is interrupted by being cancelled."""
        if self.interrupts.delivered and name_of_type(error) == "CancelledError":
            return KeyboardInterrupt().with_traceback(error.__traceback__)
        return error

    def _status(self, error):
        if error is None:
            return "ok"
        interrupted = isinstance(error, KeyboardInterrupt) and self.interrupts.delivered
        return "interrupted" if interrupted else "error"

    def publish_main(self, value, bundle):
        if is_figure(value):
            self.figures.given = value
        self._send_result(bundle, main=True)

    def publish(self, bundle, display_id=None, update=False):
        """With a display_id, it can be replaced later on; an update replaces what has its display_id."""
        about = {"display_id": str(display_id)} if display_id else {}
        self._send_result(bundle, main=False, **about, **({"update": True} if about and update else {}))

    def clear(self, wait=False):
        """What was displayed goes; with wait, when there is something in its place."""
        self.clears_next = bool(wait)
        if not wait and not self.is_child:
            self.output.flush()
            self.channel.send("clear")

    def _send_result(self, bundle, main, **about):
        if self.is_child:
            print(bundle.get("text/plain", ""))
            return
        self.output.flush()
        formats = formats_of_bundle(bundle)
        if self.clears_next:
            self.clear()
        self.channel.send("result", main=main, formats=formats, **about)

    def _become_child(self):
        """A fork speaks only through stdout and stderr."""
        if not self.is_child:
            self.is_child = True
            self.channel.close()

    def stop(self):
        """Without waiting for threads, and not for long for what the user's code does at its end."""
        _thread.start_new_thread(lambda: (time.sleep(EXIT_PATIENCE), os._exit(0)), ())
        atexit._run_exitfuncs()
        self.output.flush()
        os._exit(0)


def first_error(*errors):
    return next((error for error in errors if error is not None), None)


def leave_child(error):
    """A fork that came to the end of its cell."""
    if error is not None and not isinstance(error, SystemExit):
        print(traceback_of(error), file=sys.stderr, end="")
    code = getattr(error, "code", 0 if error is None else 1)
    for file in (sys.stdout, sys.stderr):
        file.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def main():
    kernel = Kernel()
    kernel.start()
    kernel.serve()
    kernel.stop()


if __name__ == "__main__":
    main()

# --- the supervisor -----------------------------------------------------------------------------------------------


class PrintedStream:
    """The pipe that is descriptor 1 or 2 of the interpreter."""

    def __init__(self, name, reader):
        self.name = name
        self.reader = reader
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        os.set_blocking(reader, False)

    def read(self):
        """Texts of what is in the pipe now, and not of what is written to it meanwhile."""
        count = 0
        while count < PIPE_BYTES:
            try:
                data = os.read(self.reader, READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                return
            count += len(data)
            text = self._decoder.decode(data)
            if text:
                yield text

    def rest(self):
        """Of a character that was not completed."""
        text = self._decoder.decode(b"", True)
        self._decoder.reset()
        return text


class Supervisor:
    """Has the channel's answers. The interpreter speaks to it in lines: an answer goes on as it is, after all that was
    printed before it. The line `id "…"` names the request that follows. Each is acknowledged by one byte."""

    def __init__(self, child, events, acknowledgements, streams):
        self.child = child
        self.events = events
        self.acknowledgements = acknowledgements
        self.streams = streams
        self.id = ""
        self.status = None  # of the child, when it has ended
        self._lines = Lines()
        os.set_blocking(events, False)
        self._woken, waker = moved_up(os.pipe())
        os.set_blocking(waker, False)
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_):
        """It is meant for the child, which has a group of its own."""
        try:
            if self.status is None:
                os.kill(self.child, signal.SIGINT)
        except ProcessLookupError:  # it is just being looked at how it ended
            pass

    def run(self):
        quiet = self._poll([])
        all = self._poll([stream.reader for stream in self.streams])
        while self.status is None:
            self._look(all.poll())
            if self.status is None and self._forward_printed() < READ_BYTES:
                self._look(quiet.poll(OUTPUT_PAUSE))
        self._take_events()
        self._finish_printed()
        self._end_like_child()

    def _poll(self, descriptors):
        poll = select.poll()
        for descriptor in (self.events, self._woken, *descriptors):
            poll.register(descriptor, select.POLLIN)
        return poll

    def _look(self, ready):
        ready = [descriptor for descriptor, _ in ready]
        if self._woken in ready:
            os.read(self._woken, READ_BYTES)
            self._reap()
        if self.events in ready and self.status is None:
            self._take_events()

    def _reap(self):
        process, status = os.waitpid(self.child, os.WNOHANG)
        if process:
            self.status = status

    def _take_events(self):
        while True:
            try:
                data = os.read(self.events, PIPE_BYTES)
            except BlockingIOError:
                return
            if not data:
                break
            self._lines.add(data)
            line = self._lines.next()
            while line is not None:
                self._take(line)
                line = self._lines.next()
        if self.status is None:
            self._wait_for_end()

    def _wait_for_end(self):
        """It has closed its side: it ends, or the user's code did it, and it is of no use any more."""
        self._finish_printed()
        deadline = time.monotonic() + EXIT_PATIENCE
        while self.status is None and time.monotonic() < deadline:
            wait_readable(self._woken, 100)
            self._forward_printed()
            self._reap()
        if self.status is None:
            self._kill()

    def _take(self, line):
        if line.startswith(b"id "):
            self._forward_printed()  # belongs to the request before
            self.id = json.loads(line[3:].decode("utf-8", "replace"))
        else:
            self._finish_printed() if line.startswith(b'{"type": "done"') else self._forward_printed()
            self._send(line + b"\n")
        try:
            os.write(self.acknowledgements, b".")
        except OSError:
            pass  # it has ended

    def _forward_printed(self):
        count = 0
        for stream in self.streams:
            for text in stream.read():
                self._send_text(stream, text)
                count += len(text)
        return count

    def _finish_printed(self):
        self._forward_printed()
        for stream in self.streams:
            rest = stream.rest()
            if rest:
                self._send_text(stream, rest)

    def _send_text(self, stream, text):
        self._send(json_line({"type": stream.name, "id": self.id, "text": text}))

    def _send(self, data):
        try:
            write_fully(1, data)
        except OSError:  # nobody listens any more, and there is nobody to complain to
            self._kill()
            os._exit(1)

    def _kill(self):
        os.kill(self.child, signal.SIGKILL)
        self.status = os.waitpid(self.child, 0)[1]

    def _end_like_child(self):
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            if number != signal.SIGKILL:
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        os._exit(os.WEXITSTATUS(self.status))


def supervise(supervisor):
    """Until the interpreter has ended, and then ends in the same way."""
    gc.disable()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    try:
        supervisor.run()
    finally:
        os._exit(1)


def make_pipe():
    """Its ends, for reading and writing."""
    reader, writer = moved_up(os.pipe())
    try:
        fcntl.fcntl(writer, 1031, PIPE_BYTES)  # F_SETPIPE_SZ
    except OSError:
        pass
    return reader, writer


class SupervisorLink:
    """The interpreter's ends of the pipes between the two."""

    def __init__(self, events, acknowledgements, stdout, stderr):
        self.events = events
        self.acknowledgements = acknowledgements
        self.stdout = stdout
        self.stderr = stderr

    def tell(self, line):
        """Returns when it was heard; False: there is nobody."""
        try:
            write_fully(self.events, line)
            return os.read(self.acknowledgements, 1) != b""
        except OSError:
            return False

    def close(self):
        os.close(self.events)
        os.close(self.acknowledgements)


def split_in_two():
    """Returns in the interpreter; the supervisor goes no further."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until each has its handler
    events, acknowledgements, stdout, stderr = [make_pipe() for _ in range(4)]
    gc.freeze()  # what is loaded stays, and the two share the memory that no collection writes to
    child = os.fork()
    if child:
        for descriptor in (0, events[1], acknowledgements[0], stdout[1], stderr[1]):
            os.close(descriptor)
        streams = [PrintedStream("stdout", stdout[0]), PrintedStream("stderr", stderr[0])]
        supervise(Supervisor(child, events[0], acknowledgements[1], streams))
    for descriptor in (events[0], acknowledgements[1], stdout[0], stderr[0]):
        os.close(descriptor)
    os.setpgid(0, 0)
    return SupervisorLink(events[1], acknowledgements[0], stdout[1], stderr[1])


# --- the channel --------------------------------------------------------------------------------------------------


def end_unheard():
    """Nobody listens any more, and there is nobody to complain to."""
    os._exit(1)


class Channel:
    """Requests come and answers go here, one JSON object per line; the answers by way of the supervisor."""

    def __init__(self, supervisor):
        self.requests = move_up(0)
        self.id = ""
        self.interrupts = None
        self._supervisor = supervisor
        self._lines = Lines()
        self._lock = _thread.allocate_lock()

    def request(self):
        """The next one; None at the end."""
        while True:
            line = self._line()
            if line is None:
                return None
            try:
                request = json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                continue
            if isinstance(request, dict):
                return request

    def _line(self):
        while True:
            line = self._lines.next()
            if line is not None:
                return line
            self._wait()
            data = self._read()
            if not data:
                return None
            self._lines.add(data)

    def _read(self):
        try:
            return os.read(self.requests, READ_BYTES)
        except OSError:  # the user's code has closed it
            return b""

    def _wait(self):
        """Apart from reading: what has been read cannot be found any more by an interrupt that is meant for it."""
        self.interrupts.executing = False
        wait_readable(self.requests, None)
        self.interrupts.executing = True

    def has_request(self):
        return self.has_unread() or wait_readable(self.requests, 0)

    def has_unread(self):
        """Of what was read together with an earlier request."""
        return bool(self._lines.unread)

    def begin(self, id):
        """What was printed until now belongs to the request before."""
        self.id = id
        self._tell(b"id " + json_line(id))

    def send(self, kind, **fields):
        """An answer to the request at hand, or the last one."""
        self.send_message({"type": kind, "id": self.id, **fields})

    def send_message(self, message):
        self._tell(json_line(message))

    def _tell(self, line):
        self.interrupts.shield(self._exchange, line)

    def _exchange(self, line):
        """What is printed after this comes after it."""
        with self._lock:
            if not self._supervisor.tell(line):
                end_unheard()

    def close(self):
        os.close(self.requests)
        self._supervisor.close()

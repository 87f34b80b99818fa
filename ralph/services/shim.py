"""Between ralph and one agent: a small program that sees to it that nothing of the agent stays.

Imported and started with ``LIFE STATUS HOLD GRACE FIRST LC_CTYPE MODE LEAVE ARGV...``; the first
three are file descriptors (``HOLD`` -1 for none), ``GRACE`` seconds, ``FIRST`` a signal
number, ``LC_CTYPE`` the agent's value with ``=`` before it (empty: unset, since Python may set
it at start), ``MODE`` ``reaper`` or ``portable``, ``LEAVE`` process names, one a line.

Promises on Linux (A-8, K-14, A9, A11): the agent gets a session of its own, default signal
dispositions, the three standard streams and no other descriptor of the shim. When the agent
ends, when a byte comes on ``LIFE``, or when ``LIFE`` is at its end because the supervisor is gone
for whatever cause, every descendant is ended: those in the agent's group and those that left it,
for the shim is their subreaper. Then one record is written to ``STATUS``. ``HOLD`` stays open
until all of this is done. An agent that kills the shim is killed by the kernel.

Without a subreaper (macOS; mode ``portable``) it ends the agent's group and what ``ps`` shows
below it. A process that left the group *and* lost its parent is not found from here; the
supervisor looks for it afterwards by its environment, and nobody does if the supervisor is dead.

Standard library only, and little of it: every import is paid once an iteration.
"""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator
else:
    try:
        import _signal as signal  # the C part alone: ``signal`` builds its enums for 5 ms
    except ImportError:
        import signal

ORPHANED_GRACE = 2.0  # at most, when the supervisor is gone
BY_ITSELF = 0.25  # what the agent left may end by itself this long before it counts as left
LEFT_GRACE = 1.0  # between TERM and KILL for what the agent left
KILL_SECONDS = 5.0
STRIKE = 0.05  # of killing direct children between two looks at the whole table
LOOKS = 3  # at the table, when only they can tell that nothing is left
MANY = 40  # survivors named in the record
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_TICKS = os.sysconf("SC_CLK_TCK")  # of the process table in a second


class Process:
    """One line of the process table; ``cpu`` in seconds, waited-for children included."""

    __slots__ = ("cpu", "group", "name", "parent", "pid", "session", "state")

    def __init__(
        self, pid: int, parent: int, group: int, session: int, state: str, name: str, cpu: float
    ) -> None:
        self.pid, self.parent, self.group, self.session = pid, parent, group, session
        self.state, self.name, self.cpu = state, name, cpu

    @property
    def dead(self) -> bool:
        """True for a zombie: nothing runs any more."""
        return self.state in "ZX"

    def __str__(self) -> str:
        return f"{self.name} ({self.pid})"


def table(mode: str = "reaper") -> list[Process]:
    """Return every visible process, from /proc, or from ``ps`` in mode ``portable``."""
    return list(_from_ps() if mode == "portable" else _from_proc())


def below(root: int, processes: list[Process], leave: frozenset[str]) -> list[Process]:
    """Return the descendants of ``root``, without those named in ``leave`` and theirs."""
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    todo = [root]
    while todo:
        for process in children.pop(todo.pop(), ()):
            if process.name not in leave:
                found.append(process)
                todo.append(process.pid)
    return found


def _from_proc() -> Iterator[Process]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 - pathlib costs more than the agent's start
        if entry.isdigit() and (process := _seen(entry)) is not None:
            yield process


def _seen(pid: str) -> Process | None:
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        try:
            line = os.read(fd, 4096)
        finally:
            os.close(fd)
    except OSError:
        return None
    head, _, tail = line.rpartition(b")")
    name = head.partition(b"(")[2].decode(errors="replace")
    part = tail.split()
    if len(part) < 15:
        return None
    cpu = sum(map(int, part[11:15])) / _TICKS
    return Process(int(pid), int(part[1]), int(part[2]), int(part[3]), part[0].decode(), name, cpu)


def _from_ps() -> Iterator[Process]:
    columns = [
        word
        for name in ("pid", "ppid", "pgid", "stat", "time", "comm")
        for word in ("-o", name + "=")
    ]
    read_end, write_end = os.pipe()
    pid = os.posix_spawnp(
        "ps",
        ["ps", "-A", *columns],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, write_end, 1)],
    )
    os.close(write_end)
    with os.fdopen(read_end, errors="replace") as lines:
        text = lines.read()
    os.waitpid(pid, 0)
    for line in text.splitlines():
        part = line.split(None, 5)
        if len(part) == 6 and int(part[0]) != pid:
            name = part[5].rpartition("/")[2]
            yield Process(
                int(part[0]), int(part[1]), int(part[2]), 0, part[3][0], name, _seconds(part[4])
            )


def _seconds(text: str) -> float:
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


class Shim:
    """The agent's guard: start it, watch it, end all of it, say what came of it."""

    def __init__(self, argv: list[str]) -> None:
        self.life, self.status, self.hold = int(argv[0]), int(argv[1]), int(argv[2])
        self.grace, self.first = float(argv[3]), int(argv[4])
        self.mode = argv[6]
        self.leave = frozenset(name[:15] for name in argv[7].splitlines())
        self.argv = argv[8:]
        self.agent = 0
        self.wait_status: int | None = None
        self.cpu = 0.0
        self.lost_at: float | None = None  # when the supervisor went away
        self.survivors: list[str] = []
        os.environ.pop("LC_CTYPE", None)
        if argv[5]:
            os.environ["LC_CTYPE"] = argv[5][1:]

    def prepare(self) -> None:
        """Close the ways in which the agent could reach or outlive the shim."""
        for fd in (self.life, self.status, self.hold):
            if fd >= 0:
                os.set_inheritable(fd, False)
        self.wake, wake = os.pipe()
        for fd in (self.wake, wake):
            os.set_blocking(fd, False)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        if self.mode == "reaper":
            become_subreaper()

    def start(self) -> bool:
        """Start the agent and report its pid; False, with the reason reported, if that fails."""
        try:
            self.agent = self.spawn() if self.mode == "portable" else self.fork()
        except OSError as error:
            self.say(f'{{"errno": {error.errno}}}')
            return False
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        self.say(f'{{"pid": {self.agent}}}')
        return True

    def spawn(self) -> int:
        """Start the agent in a session of its own and return its pid."""
        return os.posix_spawnp(
            self.argv[0],
            self.argv,
            os.environ,
            setsid=True,
            setsigmask=[],
            setsigdef=signal.valid_signals(),
        )

    def fork(self) -> int:
        """Do as ``spawn`` does; the agent is moreover killed when the shim dies (Linux)."""
        shim = os.getpid()
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.become_agent(shim)
            except OSError as error:
                os.write(write_end, str(error.errno).encode())
            finally:
                os._exit(127)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as told:
            number = told.read()
        if number:
            os.waitpid(pid, 0)
            raise OSError(int(number), "exec")
        return pid

    def become_agent(self, shim: int) -> None:
        """Become the agent, in the forked child; return only if the shim is dead already."""
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if os.getppid() == shim:
            os.execvp(self.argv[0], self.argv)

    def watch(self) -> None:
        """Return when the agent has exited, is to be stopped, or the supervisor is gone."""
        while not self.exited():
            if self.pause(None):
                return

    def exited(self) -> bool:
        """Reap adopted orphans; True once the agent itself is dead, still unreaped if possible."""
        if self.wait_status is not None:
            return True
        if self.mode == "portable":
            return self.reap(self.agent)
        while True:
            seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if seen is None or seen.si_pid == self.agent:
                return seen is not None
            self.reap(seen.si_pid)

    def reap(self, pid: int) -> bool:
        """Take the status of a dead child; False while it lives."""
        try:
            done, status, usage = os.wait4(pid, os.WNOHANG)
        except ChildProcessError:
            return True
        if done:
            self.cpu += usage.ru_utime + usage.ru_stime
            if done == self.agent:
                self.wait_status = status
        return bool(done)

    def pause(self, seconds: float | None) -> bool:
        """Wait for a child's death or a word from the supervisor; True when there was a word."""
        ends = [self.wake] if self.lost_at is not None else [self.wake, self.life]
        ready = select.select(ends, [], [], seconds)[0]
        if self.wake in ready:
            os.read(self.wake, 4096)
        if self.life not in ready:
            return False
        if not os.read(self.life, 64):
            self.lost_at = time.monotonic()
        return True

    def living(self, leave: frozenset[str] = frozenset()) -> list[Process]:
        """Return the descendants that were seen to run; dead ones that are ours are reaped.

        One look at the table can miss a process that is born while it is read: whether nothing
        is left, ``gone`` tells.
        """
        found = below(os.getpid(), table(self.mode), leave)
        if self.mode == "portable":
            known = {process.pid for process in found}
            found += [p for p in table(self.mode) if p.group == self.agent and p.pid not in known]
        for process in found:
            if process.dead and process.parent == os.getpid():
                self.reap(process.pid)
        return [process for process in found if not process.dead]

    def gone(self, leave: frozenset[str] = frozenset()) -> bool:
        """True when nothing of the agent runs any more, but for ``leave``.

        A subreaper has a child as long as it has a descendant, so the kernel's answer is exact
        where a look at the table is not; beside a process that may stay, several looks count.
        """
        if self.mode == "portable":
            return not self.living(leave)
        try:
            while seen := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                self.reap(seen.si_pid)
        except ChildProcessError:
            return True
        return bool(leave) and not any(self.living(leave) for _ in range(LOOKS))

    def end(self) -> None:
        """End the agent and all below it: first signal, grace, kill (K-14)."""
        alive = self.living()
        self.send(alive, self.first, signal.SIGTERM, group=True)
        self.finish(self.grace, frozenset())

    def tidy(self) -> None:
        """End what an agent left that exited by itself, but for the names in ``leave``."""
        if self.outlast(BY_ITSELF, self.leave):
            return
        left = self.living(self.leave)
        self.note(left)
        self.send(left, signal.SIGTERM, signal.SIGTERM, group=not self.leave)
        self.finish(LEFT_GRACE, self.leave)

    def finish(self, grace: float, leave: frozenset[str]) -> None:
        """Wait ``grace`` seconds for an end, then kill until nothing is left (bounded)."""
        if self.outlast(grace, leave):
            return
        self.note(self.living(leave))
        until = time.monotonic() + KILL_SECONDS
        while time.monotonic() < until and not self.gone(leave):
            if not leave:
                self.strike()
            alive = self.living(leave)
            self.note(alive)
            self.send(alive, signal.SIGKILL, signal.SIGKILL, group=not leave)
            self.pause(0.01)

    def strike(self) -> None:
        """Kill the shim's own children at once, until their list stays the same for a while.

        Whoever forks and exits faster than the table can be read is a new child each time; here
        it is killed as soon as the death of its parent makes it one.
        """
        until = time.monotonic() + STRIKE
        while time.monotonic() < until and not self.gone():
            alive = [child for child in _children() if not child.dead]
            for child in alive:
                _kill(child.pid, signal.SIGKILL)
            self.note(alive)
            self.pause(0.001)

    def outlast(self, seconds: float, leave: frozenset[str]) -> bool:
        """True as soon as nothing is left; False if something still is after ``seconds``."""
        until, step = time.monotonic() + seconds, 0.01
        while not self.gone(leave):
            if self.lost_at is not None:
                until = min(until, self.lost_at + ORPHANED_GRACE)
            rest = until - time.monotonic()
            if rest <= 0:
                return False
            self.pause(min(step, rest))
            step = min(step * 2, 0.1)
        return True

    def send(self, alive: list[Process], first: int, others: int, *, group: bool) -> None:
        """Signal the agent's group as a whole, and each process outside it."""
        for process in alive:
            inside = process.group == self.agent
            if not (inside and group):
                _kill(process.pid, first if inside else others)
        if group and (self.wait_status is None or any(p.group == self.agent for p in alive)):
            _kill(-self.agent, first)
            _kill(-self.agent, signal.SIGCONT)  # a stopped process does not see its TERM

    def note(self, left: list[Process]) -> None:
        """Remember the names of processes that had to be ended."""
        names = [str(process) for process in left if process.pid != self.agent]
        self.survivors += [name for name in names if name not in self.survivors]

    def report(self) -> None:
        """Write the exit record: code or signal, CPU seconds, survivors."""
        self.reap(self.agent)
        status = self.wait_status
        signalled = status is not None and os.WIFSIGNALED(status)
        code = "null" if status is None or signalled else str(os.WEXITSTATUS(status))
        number = str(os.WTERMSIG(status)) if status is not None and signalled else "null"
        names = self.survivors[:MANY]
        if len(self.survivors) > MANY:
            names.append(f"and {len(self.survivors) - MANY} more")
        listed = ", ".join(map(_quoted, names))
        self.say(
            f'{{"code": {code}, "signal": {number}, "cpu": {self.cpu:.3f},'
            f' "survivors": [{listed}]}}'
        )

    def say(self, record: str) -> None:
        """Write one line to the supervisor, who may be gone."""
        try:
            os.write(self.status, record.encode() + b"\n")
        except OSError:
            self.lost_at = self.lost_at or time.monotonic()


def become_subreaper(on: int = 1) -> bool:
    """Have orphaned descendants become children of this process (Linux); True if it worked."""
    return _prctl(PR_SET_CHILD_SUBREAPER, on)


def _prctl(option: int, value: int) -> bool:
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0) == 0)
    except AttributeError:
        return False


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # gone, or not ours to signal


def _children() -> list[Process]:
    """This process's children, without a look at all others; empty where /proc lists none."""
    try:
        fd = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY)
    except OSError:
        return []
    try:
        pids = os.read(fd, 65536).split()
    finally:
        os.close(fd)
    return [child for pid in pids if (child := _seen(pid.decode())) is not None]


def _quoted(text: str) -> str:
    plain = (c if c.isascii() and c.isprintable() and c not in '"\\' else "?" for c in text)
    return '"' + "".join(plain) + '"'


def main(argv: list[str]) -> None:
    """Run one agent to its certain end, and exit."""
    shim = Shim(argv)
    shim.prepare()
    if shim.start():
        _guard(shim)
    os._exit(0)


def _guard(shim: Shim) -> None:
    try:
        shim.watch()
        if shim.exited():
            shim.say('{"exited": true}')
            shim.tidy()
        else:
            shim.end()
    except BaseException:
        shim.finish(0.0, frozenset())
        raise
    finally:
        shim.report()

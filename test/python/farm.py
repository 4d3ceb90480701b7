"""A Dask scheduler, workers and a driver of tangere.cluster as processes of this machine, to be killed, frozen and starved."""
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import threading
import time

import tangere as tg

MODEL = """<mujoco><option timestep="0.01"/><worldbody><geom name="floor" type="plane" size="3 3 0.1" friction="0.01"/>
<body name="block" pos="0 0 0.1"><joint name="x" type="slide" axis="1 0 0" stiffness="40"/><joint name="z" type="slide" axis="0 0 1"/>
<geom name="block" type="box" size="0.1 0.1 0.1" mass="1" friction="0.5"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>"""
TASK = """model: m.xml
contact: lcp
horizon: {steps: %d}
start: {joints: [{joint: x, position: [0.6]}]}
controls: {every: 5, start: 0, start_noise: 3, low: -50, high: 50}
losses: [{term: joint_position, name: x, target: [0.2], weight: 1}]
optimizer: {method: adam, iterations: %d, rate: 0.5}
"""
TTL = 3   # seconds after which a scheduler counts a silent worker as lost


def specification(folder, shards, steps=100, iterations=60, job="optimize", group=1):
    """A sweep of `shards` shards over masses; with the defaults each takes a good tenth of a second."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "m.xml").write_text(MODEL)
    (folder / "t.yaml").write_text(TASK % (steps, iterations))
    (folder / "s.yaml").write_text(f"task: t.yaml\njob: {job}\nhow: random\nsamples: {shards * group}\ngroup: {group}\n"
                                   "vary: [{parameter: body_mass, of: block, low: 0.5, high: 2}]\n")
    return folder / "s.yaml"


def serial(spec, out):
    """The same shards one after the other in this process; what a merge of them has."""
    shards = tg.Shards(spec)
    ledger = tg.ShardLedger(shards, out)
    while (i := ledger.next()) >= 0:
        ledger.add(shards.run(i, out))
    ledger.close()
    return tg.Shards.merge([str(out)], out)


def lines(out):
    """Numbers of the shards in a ledger, as often as they stand there."""
    return [int(line.split()[1]) for line in (pathlib.Path(out) / "ledger").read_text().splitlines()[1:]]


def certificates(folder):
    """An authority of its own in that folder, and a certificate of it for every machine of the farm."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in ("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout cakey.pem -out ca.pem -subj /CN=authority -days 2",
                 "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out request.pem -subj /CN=farm",
                 "x509 -req -in request.pem -CA ca.pem -CAkey cakey.pem -CAcreateserial -out cert.pem -days 2"):
        subprocess.run(["openssl", *line.split()], cwd=folder, check=True, capture_output=True)
    return folder


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Farm:
    """Processes in sessions of their own. Workers that end are started again, as an init system would."""

    def __init__(self, log, workers=2, link=False, tls=None):
        """link: worker 1 is in a network namespace of its own, behind a link that can be cut. tls: a folder of certificates()."""
        self.port, self.log, self.workers, self.stopping = free_port(), pathlib.Path(log), [], False
        self.host, self.namespace, self.tls = "127.0.0.1", None, tls
        if link:
            self.make_link()
        self.log.mkdir(parents=True, exist_ok=True)
        self.env = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{TTL}s", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "15s",
                                 "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "10"}
        self.start_scheduler()
        self.workers = [self.start_worker(i) for i in range(workers)]
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()

    @property
    def address(self):
        return f"{'tls' if self.tls else 'tcp'}://{self.host}:{self.port}"

    @property
    def secured(self):
        """Options of Dask's two commands, and of the driver but for the words `-file`."""
        return ["--tls-ca-file", self.tls / "ca.pem", "--tls-cert", self.tls / "cert.pem", "--tls-key", self.tls / "key.pem"] if self.tls else []

    def make_link(self):
        self.namespace = f"tg{os.getpid() % 100000}"
        name, net = self.namespace, f"10.199.{os.getpid() % 250}"
        self.host = net + ".1"
        for line in (f"netns add {name}", f"link add {name}a type veth peer name {name}b netns {name}", f"addr add {net}.1/24 dev {name}a",
                     f"link set {name}a up", f"-n {name} addr add {net}.2/24 dev {name}b", f"-n {name} link set {name}b up",
                     f"-n {name} link set lo up"):
            subprocess.run(["ip", *line.split()], check=True)

    def cut(self, how="down"):
        subprocess.run(["ip", "link", "set", self.namespace + "a", how], check=True)

    def start(self, name, *command, inside=()):
        with open(self.log / (name + ".log"), "ab") as log:
            return subprocess.Popen([*inside, sys.executable, "-m", *map(str, command)], env=self.env, stdout=log, stderr=log,
                                    start_new_session=True)

    def start_scheduler(self):
        self.scheduler = self.start("scheduler", "distributed.cli.dask_scheduler", "--host", self.host, "--port", self.port, "--no-dashboard",
                                    *self.secured)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as s:
                if s.connect_ex((self.host, self.port)) == 0:
                    return
            time.sleep(0.05)
        raise TimeoutError("the scheduler does not listen")

    def start_worker(self, i):
        far = i == 1 and self.namespace is not None
        return self.start(f"worker{i}", "distributed.cli.dask_worker", self.address, "--nthreads", 1, "--no-nanny", "--no-dashboard",
                          "--host", self.host[:-1] + "2" if far else self.host, "--death-timeout", 20, "--local-directory", self.log,
                          *self.secured,
                          inside=("ip", "netns", "exec", self.namespace) if far else ())

    def keep(self):
        while not self.stopping:
            for i, w in enumerate(self.workers):
                if w.poll() is not None and not self.stopping:
                    self.workers[i] = self.start_worker(i)
            time.sleep(0.1)

    def start_driver(self, spec, out):
        return self.start("driver", "tangere.cluster", spec, "--out", out, "--scheduler", self.address, "--json", "--wait", 60)

    def fill_disk(self, i, full=True):
        """A worker whose files may hold no more than 200 bytes: as on a full disk, writes fail."""
        size = 200 if full else resource.RLIM_INFINITY
        resource.prlimit(self.workers[i].pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def result(self, driver, timeout):
        """Of the driver, when it has ended; TimeoutError where it has not."""
        code = driver.wait(timeout)
        log = (self.log / "driver.log").read_text()
        return code, json.loads([line for line in log.splitlines() if line.startswith("{")][-1]) if code in (0, 3, 4) else log

    def close(self):
        self.stopping = True
        self.keeper.join()
        for p in [*self.workers, self.scheduler]:
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            p.wait()
        if self.namespace is not None:
            subprocess.run(["ip", "netns", "del", self.namespace], check=True)

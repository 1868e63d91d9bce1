"""A network for the nodes of Scripts/fleet-test, which can be cut: a network namespace for each node
and a bridge between them, where PostgreSQL and the clients are.

A cut is a wrong link-layer address of the other end: packets are sent and reach nobody, as with a
broken switch. So each direction can be cut alone, and nobody is told.
"""

import os
import random
import subprocess
import sys
import time

# A link-layer address that no end has, and that of the bridge.
NOBODY, BRIDGE = "02:00:00:00:00:01", "02:00:00:00:00:02"
# How late frames arrive on a bad line, in milliseconds, and how many of a hundred are lost.
LATE, LOST = 200, 5


def ip(*words):
    """Runs ip(8); raises CalledProcessError."""
    subprocess.run(("ip",) + words, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


class Network:
    """A bridge with one namespace a node; ends with this object."""

    def __init__(self, names):
        """Raises OSError or CalledProcessError if this user may not make one."""
        self.bridge = "wf%d" % os.getpid()
        self.bad_lines = []
        # When each cut or bad line was made, and when it was mended.
        self.disturbed = []
        prefix = "10.%d.%d" % (random.randrange(200, 250), random.randrange(256))
        self.host = prefix + ".254"
        self.addresses = {name: "%s.%d" % (prefix, place + 1) for place, name in enumerate(names)}
        try:
            # Without an address of its own, a bridge takes another one when its ports change.
            ip("link", "add", "dev", self.bridge, "address", BRIDGE, "type", "bridge")
            ip("address", "add", self.host + "/24", "dev", self.bridge)
            ip("link", "set", self.bridge, "up")
            for name in names:
                self.add(name)
        except (OSError, subprocess.CalledProcessError):
            self.end()
            raise

    def space(self, name):
        return self.bridge + name

    def add(self, name):
        space, port = self.space(name), self.bridge + name
        ip("netns", "add", space)
        ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("link", "set", port, "master", self.bridge, "up")
        ip("-n", space, "address", "add", self.addresses[name] + "/24", "dev", "eth0")
        for link in ("eth0", "lo"):
            ip("-n", space, "link", "set", "dev", link, "up")

    def command(self, name):
        """The words in front of a command that runs in a node's namespace."""
        return ["ip", "netns", "exec", self.space(name)]

    def cut_from(self, name, address):
        """Loses what a node sends to an address."""
        self.note()
        ip("-n", self.space(name), "neighbour", "replace", address, "lladdr", NOBODY, "dev", "eth0",
           "nud", "permanent")

    def cut_to(self, name):
        """Loses what PostgreSQL and the clients send to a node."""
        self.note()
        ip("neighbour", "replace", self.addresses[name], "lladdr", NOBODY, "dev", self.bridge,
           "nud", "permanent")

    def spoil(self, name, way, *addresses):
        """Delays and loses frames of a node, `both` ways, or those `from` or `to` it.

        With addresses, only frames from or to one of them.
        """
        self.note()
        line = subprocess.Popen(
            [sys.executable, "-B", os.path.join(os.path.dirname(__file__), "bad_line.py"),
             self.bridge, self.bridge + name, way, str(LATE), str(LOST), *addresses],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.bad_lines.append(line)
        if line.stdout.readline() != "ready\n":
            raise OSError("the line of %s does not get bad" % name)

    def mend(self):
        """Undoes all cuts, and makes bad lines good ones."""
        while self.bad_lines:
            self.bad_lines.pop().communicate()
        for name, address in self.addresses.items():
            for end in [self.host] + list(self.addresses.values()):
                self.forget("-n", self.space(name), "neighbour", "del", end, "dev", "eth0")
            self.forget("neighbour", "del", address, "dev", self.bridge)
        for disturbance in self.disturbed:
            disturbance[1] = min(disturbance[1], time.clock_gettime(time.CLOCK_BOOTTIME))

    def note(self):
        self.disturbed.append([time.clock_gettime(time.CLOCK_BOOTTIME), float("inf")])

    def forget(self, *words):
        """Removes what may not be there."""
        try:
            ip(*words)
        except subprocess.CalledProcessError:
            pass

    def end(self):
        for line in self.bad_lines:
            line.kill()
        for name in self.addresses:
            self.forget("netns", "del", self.space(name))
        self.forget("link", "del", self.bridge)


def network(names):
    """A network, or None and why there is none."""
    try:
        return Network(names), None
    except FileNotFoundError:
        return None, "there is no program ip (package iproute2)"
    except (OSError, subprocess.CalledProcessError) as error:
        return None, "no network namespaces: %s" % error

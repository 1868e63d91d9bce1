"""A bad line of one node of Scripts/fleet-test: its frames go through this program, which delays
and loses them, as tc-netem(8) does. Few kernels of virtual machines have that.

    bad_line.py BRIDGE PORT WAY MILLISECONDS PERCENT [ADDRESS…]

Takes PORT, the node's end at the bridge, out of BRIDGE, and passes its frames on through a tap in
its place. WAY is `both`, `from` or `to` the node: frames of that way arrive so many milliseconds
late, and of a hundred PERCENT are lost. With ADDRESSes, only those from or to one of them. Writes
`ready`; puts PORT back when its standard input ends.
"""

import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

# Of <linux/if_tun.h> and <linux/if_packet.h>. Frames have a header about their checksums in front,
# which may be left to the hardware; both ends speak it.
TUNSETIFF, TAP, NO_INFORMATION, HEADER = 0x400454CA, 0x0002, 0x1000, 0x4000
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
HEADER_SIZE, FRAME_MAX = 10, 1 << 17
# The place of the addresses in a frame, behind that header, Ethernet's, and a part of IPv4's.
ADDRESSES = HEADER_SIZE + 14 + 12
EVERY_PROTOCOL = 0x0003


def ip(*words):
    subprocess.run(("ip", "link", "set") + words, check=True)


def make_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack(
        "16sH22x", name.encode(), TAP | NO_INFORMATION | HEADER))
    return tap


def open_port(name):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    port.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    port.bind((name, EVERY_PROTOCOL))
    port.setblocking(False)
    return port.detach()


class Line:
    """Two descriptors, and the frames on their way between them."""

    def __init__(self, node, network, way, delay, loss, addresses):
        self.delays = {node: way != "to", network: way != "from"}
        self.other = {node: network, network: node}
        self.delay, self.loss = delay, loss
        self.addresses = {socket.inet_aton(address) for address in addresses}
        self.late, self.count = [], 0

    def is_bad(self, end, frame):
        """Whether a frame that comes from an end is delayed, and may be lost."""
        if not self.delays[end]:
            return False
        # Of IPv4: its source and its destination.
        ends = frame[ADDRESSES:ADDRESSES + 4], frame[ADDRESSES + 4:ADDRESSES + 8]
        return not self.addresses or not self.addresses.isdisjoint(ends)

    def take(self, end):
        """Takes the frames that an end has."""
        while True:
            try:
                frame = os.read(end, FRAME_MAX)
            except BlockingIOError:
                return
            is_bad = self.is_bad(end, frame)
            if is_bad and random.random() < self.loss:
                continue
            # No frame overtakes another one of its way and addresses.
            due = time.monotonic() + (self.delay if is_bad else 0)
            self.count += 1
            heapq.heappush(self.late, (due, self.count, self.other[end], frame))

    def give(self):
        """Passes on the frames whose time has come; returns the seconds until the next one's."""
        while self.late:
            rest = self.late[0][0] - time.monotonic()
            if rest > 0:
                return rest
            _, _, end, frame = heapq.heappop(self.late)
            try:
                os.write(end, frame)
            except OSError:
                pass  # There is no room for it: it is lost.
        return None

    def run(self):
        while True:
            ready, _, _ = select.select([sys.stdin, *self.other], [], [], self.give())
            if sys.stdin in ready:
                return
            for end in ready:
                self.take(end)


def main(bridge, port, way, milliseconds, percent, *addresses):
    tap_name = port + "t"
    tap, node = make_tap(tap_name), open_port(port)
    # Out of the bridge, the host must not answer at the port for the bridge's address.
    with open("/proc/sys/net/ipv4/conf/%s/arp_ignore" % port, "w") as file:
        file.write("1")
    ip(port, "nomaster")
    ip(tap_name, "master", bridge, "up")
    print("ready", flush=True)
    try:
        Line(node, tap, way, float(milliseconds) / 1000, float(percent) / 100, addresses).run()
    finally:
        os.close(tap)
        ip(port, "master", bridge)


if __name__ == "__main__":
    main(*sys.argv[1:])

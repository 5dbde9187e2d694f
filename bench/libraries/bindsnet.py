"""A spiking network with learning by the times of spikes."""

from bindsnet.learning import PostPre
from bindsnet.network import Network
from bindsnet.network.monitors import Monitor
from bindsnet.network.nodes import Input, LIFNodes
from bindsnet.network.topology import Connection

from bench.drawn import integers, uniform


def main():
    network = Network()
    network.add_layer(Input(n=10, traces=True), "x")
    network.add_layer(LIFNodes(n=5, traces=True), "y")
    connection = Connection(
        network.layers["x"], network.layers["y"], w=5 * uniform(10, 5), update_rule=PostPre, nu=(1e-2, 1e-1)
    )
    network.add_connection(connection, "x", "y")
    monitor = Monitor(network.layers["y"], ("s", "v"), time=20)
    network.add_monitor(monitor, "y")
    network.run(inpts={"x": integers(2, 20, 1, 10).byte()}, time=20)
    return monitor.get("s").float().sum(), monitor.get("v"), connection.w

/*
 * ns3-figure9 - the topology of Olaf's Figure 9 in ns-3, with its drop-tail
 * queues; bench P10 compares speed and losses of innet-sim with it
 *
 *	ns3-figure9 SECONDS [SEED]
 *
 * 10 clusters of 10 workers send 1,000-byte updates every 100 ms, each with its
 * own phase.  Clusters 1 to 5 send over switch 1, the others over switch 2, and
 * all over switch 3 to the server.  Frames have 1,030 bytes.  The queues have
 * 5, 5 and 8 slots, which include the frame in transmission, and the links
 * carry 0.5, 0.5 and 1 Mbit/s.  The program prints one JSON object with the
 * numbers of updates sent and received.
 */
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <cstdlib>

using namespace ns3;

static const uint32_t CLUSTERS = 10, WORKERS = 10, PAYLOAD = 1000;
static const uint16_t PORT = 46638;
static const Time INTERVAL = MilliSeconds(100);

static uint64_t sent, received;

static void
send_update(Ptr<Socket> socket)
{
	sent++;
	socket->Send(Create<Packet>(PAYLOAD));
	Simulator::Schedule(INTERVAL, send_update, socket);
}

static void
receive(Ptr<Socket> socket)
{
	while (socket->Recv() != nullptr)
		received++;
}

/* Make a link from a to b; its addresses are in their own network. */
static Ipv4InterfaceContainer
join(Ptr<Node> a, Ptr<Node> b, const char *rate, const char *delay,
    uint32_t waiting)
{
	static Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
	PointToPointHelper link;
	char size[16];

	snprintf(size, sizeof(size), "%up", waiting);
	link.SetDeviceAttribute("DataRate", StringValue(rate));
	link.SetChannelAttribute("Delay", StringValue(delay));
	link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize",
	    StringValue(size));

	NetDeviceContainer devices = link.Install(a, b);
	Ipv4InterfaceContainer in = addresses.Assign(devices);

	TrafficControlHelper().Uninstall(devices);
	addresses.NewNetwork();
	return in;
}

int
main(int argc, char *argv[])
{
	if (argc < 2 || argc > 3 || atof(argv[1]) <= 0) {
		fputs("usage: ns3-figure9 SECONDS [SEED]\n", stderr);
		return 2;
	}
	RngSeedManager::SetSeed(argc > 2 ? (uint32_t)atoi(argv[2]) : 1);

	NodeContainer workers, switches, server;
	InternetStackHelper stack;

	workers.Create(CLUSTERS * WORKERS);
	switches.Create(3);
	server.Create(1);
	stack.Install(workers);
	stack.Install(switches);
	stack.Install(server);
	join(switches.Get(0), switches.Get(2), "500kbps", "10ms", 5 - 1);
	join(switches.Get(1), switches.Get(2), "500kbps", "10ms", 5 - 1);
	const Ipv4InterfaceContainer last = join(switches.Get(2),
	    server.Get(0), "1Mbps", "10ms", 8 - 1);
	for (uint32_t i = 0; i < workers.GetN(); i++)
		join(workers.Get(i), switches.Get(i / WORKERS < 5 ? 0 : 1),
		    "10Gbps", "0ms", 1000);
	Ipv4GlobalRoutingHelper::PopulateRoutingTables();

	Ptr<Socket> sink = Socket::CreateSocket(server.Get(0),
	    UdpSocketFactory::GetTypeId());
	sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
	sink->SetRecvCallback(MakeCallback(&receive));

	Ptr<UniformRandomVariable> phase =
	    CreateObject<UniformRandomVariable>();
	for (uint32_t i = 0; i < workers.GetN(); i++) {
		Ptr<Socket> socket = Socket::CreateSocket(workers.Get(i),
		    UdpSocketFactory::GetTypeId());

		socket->Connect(InetSocketAddress(last.GetAddress(1), PORT));
		Simulator::Schedule(NanoSeconds((uint64_t)(phase->GetValue(0,
		    1) * (double)INTERVAL.GetNanoSeconds())), send_update,
		    socket);
	}
	Simulator::Stop(Seconds(atof(argv[1])));
	Simulator::Run();
	printf("{\"sent\":%llu,\"received\":%llu,\"loss_percent\":%.3f}\n",
	    (unsigned long long)sent, (unsigned long long)received,
	    100.0 * (double)(sent - received) / (double)sent);
	Simulator::Destroy();
	return 0;
}

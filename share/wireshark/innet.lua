-- innet.lua - let Wireshark and tshark dissect the packets of innet
--
--	tshark -X lua_script:innet.lua -r trace.pcap
--
-- To install it permanently, copy it to the folder of plug-ins (Wireshark: Help,
-- About, Folders, "Personal Lua Plugins").  innet-wire(5) defines the layouts.  The
-- dissector recognises updates, models, gradient segments and control messages by
-- their DSCP on any port, and DLP by its ports, which are a preference.

local update = Proto("innet.update", "innet update (Olaf)")
local segment = Proto("innet.segment", "innet gradient segment (iSwitch)")
local control = Proto("innet.control", "innet control message (iSwitch)")
local dlp = Proto("innet.dlp", "Distributed Learning Protocol")

local UPDATE_BYTES, STATUS_BYTES, TAIL_BYTES = 32, 8, 16
local SEGMENT_BYTES, TAG_BYTES = 8, 8
local CONTROL_BYTES, COOKIE_BYTES, MAC_BYTES = 8, 24, 24
local PROBE_BYTES, STATE_BYTES = 30, 24
local DLP_BYTES = 30
local DLP_VECTOR = 7
local ALL_WORKERS = 0xffffffff

local kinds = { [1] = "update", [2] = "model", [3] = "weights" }
local actions = {
	[1] = "Join", [2] = "Leave", [3] = "Reset", [4] = "SetH",
	[5] = "FBcast", [6] = "Help", [7] = "Halt", [8] = "Ack",
	[16] = "Resume", [17] = "Members", [18] = "Stats", [19] = "Open",
	[20] = "Jobs", [21] = "Regroup", [22] = "Fetch", [23] = "Chunk",
	[24] = "Left",
}
local reductions = { [0] = "as the switch says", "sum", "ordered", "fixed", "median", "trimmed" }

local statuses = {
	[0] = "done", "no such job", "no room", "not a member", "refused",
	"bad value", "not ready", "bad MAC", "gone", "prove yourself",
	"unknown", "number taken", "no parent",
}
local scopes = { [0] = "job", [1] = "switch" }
local types = { [1] = "worker", [2] = "switch", [3] = "server" }
local modes = { [0] = "synchronous", [1] = "asynchronous" }
local states = {
	[0] = "WAITING", "SETUP", "LEARNING", "ERROR", "WRONG_STEP", "RESET",
	"CONFIGURE", "VECTOR", [10] = "poll",
}

-- Make the fields of a protocol from rows of name, kind of field, text, and other
-- arguments of ProtoField.
local function fields(proto, rows)
	local f = {}
	for _, row in ipairs(rows) do
		local name, kind, text = row[1], row[2], row[3]
		f[name] = ProtoField[kind](proto.name:lower() .. "." .. name,
		    text, table.unpack(row, 4))
	end
	proto.fields = f
	return f
end

-- Make the expert notes of a protocol from names and texts; all are warnings.
local function notes(proto, rows)
	local e = {}
	for name, text in pairs(rows) do
		e[name] = ProtoExpert.new(proto.name:lower() .. "." .. name,
		    text, expert.group.MALFORMED, expert.severity.WARN)
	end
	proto.experts = e
	return e
end

local uf = fields(update, {
	{ "version", "uint8", "Version" },
	{ "kind", "uint8", "Kind", base.DEC, kinds },
	{ "cluster", "uint16", "Cluster" },
	{ "worker", "uint32", "Worker" },
	{ "sequence", "uint32", "Sequence" },
	{ "merged", "uint16", "Merged" },
	{ "following", "uint16", "Following packets" },
	{ "generated", "uint64", "Generated, ns since the epoch" },
	{ "reward", "float", "Reward" },
	{ "elements", "uint32", "Elements of the whole vector" },
	{ "occupancy", "uint24", "Occupancy" },
	{ "filled", "bool", "A switch has filled this in", 8, nil, 1 },
	{ "full", "bool", "The queue is full", 8, nil, 2 },
	{ "active", "uint16", "Active clusters" },
	{ "capacity", "uint16", "Capacity, slots" },
	{ "floats", "uint32", "Elements in this packet" },
	{ "first", "uint32", "First element in this packet" },
	{ "vector", "bytes", "Vector" },
	{ "counter", "uint64", "Counter of its sender" },
	{ "proof", "bytes", "Authentication tag" },
})
local ue = notes(update, {
	short = "Ends within its header or status",
	bad_version = "Version is not 1",
	bad_kind = "No such kind",
	bad_length = "Vector does not fit elements and following",
	bad_merged = "An update of no constituents",
	nonfinite = "Reward or an element is infinite or not a number",
	snaplen = "Cut by the capture",
})

local sf = fields(segment, {
	{ "iteration", "uint24", "Iteration" },
	{ "contributions", "uint16", "Contributions" },
	{ "index", "uint24", "Index" },
	{ "proof", "bytes", "Authentication tag" },
	{ "floats", "uint32", "Elements in this packet" },
	{ "vector", "bytes", "Vector" },
})
local se = notes(segment, {
	bad_length = "Not 8 bytes, or 16, and 4 for each of some elements",
	nonfinite = "An element is infinite or not a number",
	snaplen = "Cut by the capture",
})

local cf = fields(control, {
	{ "action", "uint8", "Action", base.DEC, actions },
	{ "flags", "uint8", "Flags", base.HEX },
	{ "proves", "bool", "There is a cookie", 8, nil, 2 },
	{ "sealed", "bool", "There is a MAC", 8, nil, 4 },
	{ "commands", "bool", "Of the key of commands", 8, nil, 8 },
	{ "job", "uint16", "Job" },
	{ "xid", "uint32", "Transaction" },
	{ "type", "uint8", "Type", base.DEC, types },
	{ "mode", "uint8", "Mode", base.DEC, modes },
	{ "cluster", "uint16", "Cluster" },
	{ "worker", "uint32", "Worker" },
	{ "elements", "uint32", "Elements of the vector" },
	{ "floats", "uint16", "F, elements in a segment" },
	{ "next", "uint32", "Next iteration" },
	{ "crc", "uint32", "CRC-32C of the weights", base.HEX },
	{ "again", "bool", "Can give the last iteration again", 8, nil, 1 },
	{ "repairs", "bool", "Repairs by Probe, STATE and NACK", 8, nil, 2 },
	{ "gives", "bool", "Sends its state to members that join late", 8, nil, 4 },
	{ "founds", "bool", "Founds the job, or is refused", 8, nil, 8 },
	{ "can_hear", "bool", "Can hear a group", 8, nil, 16 },
	{ "hears", "bool", "Hears the group", 8, nil, 32 },
	{ "wants_instance", "bool", "Asks for the instance of the job", 8, nil, 64 },
	{ "wants_left", "bool", "Asks for Left messages", 8, nil, 128 },
	{ "h", "uint16", "H" },
	{ "reduce", "uint8", "How contributions are combined", base.DEC, reductions },
	{ "detail", "uint16", "Bits or dropped values" },
	{ "straggler", "uint32", "Wait for late members, us" },
	{ "iteration", "uint24", "Seg: iteration" },
	{ "contributions", "uint16", "Contributions" },
	{ "index", "uint24", "Seg: index" },
	{ "as", "uint32", "Worker there" },
	{ "page", "uint16", "Page" },
	{ "scope", "uint8", "Of the", base.DEC, scopes },
	{ "pages", "uint16", "Pages" },
	{ "text", "string", "Text" },
	{ "acked", "uint8", "Answers", base.DEC, actions },
	{ "status", "uint8", "Status", base.DEC, statuses },
	{ "member", "uint16", "Member id" },
	{ "members", "uint16", "Members" },
	{ "timeout", "uint16", "Put out after, s of silence" },
	{ "server", "bool", "A server, which answers whole vectors", 8, nil, 1 },
	{ "awaited", "bool", "Others are still to join", 8, nil, 2 },
	{ "mends", "bool", "Repairs by Probe, STATE and NACK", 8, nil, 4 },
	{ "async", "bool", "The job is asynchronous", 8, nil, 8 },
	{ "spans", "bool", "There are slots for a span of segments", 8, nil, 16 },
	{ "proven", "bool", "Data has authentication tags", 8, nil, 32 },
	{ "groups", "bool", "Results come to a group", 8, nil, 64 },
	{ "has_instance", "bool", "The instance of the job follows", 8, nil, 128 },
	{ "span", "uint32", "Segments that have slots" },
	{ "salt", "bytes", "Salt of the tags" },
	{ "epoch", "uint32", "Epoch of the next iteration" },
	{ "group_port", "uint16", "Port of the group" },
	{ "group", "ipv6", "Address of the group" },
	{ "evicted", "bool", "Removed because of silence", 8, nil, 1 },
	{ "ago", "uint32", "Left, ms ago" },
	{ "port", "uint16", "Port of the member" },
	{ "address", "ipv6", "Address of the member" },
	{ "instance", "uint32", "Instance of the job", base.HEX },
	{ "mark", "uint32", "Mark, sent or completed so far" },
	{ "seen", "uint32", "Highest mark seen" },
	{ "last", "uint24", "Newest index not asked for" },
	{ "upto", "uint24", "Segments sent at least once" },
	{ "round", "uint24", "Round" },
	{ "last_round", "uint24", "Round of the newest" },
	{ "resent", "uint24", "Results sent for it, ahead" },
	{ "whole", "bool", "All is complete", 8, nil, 1 },
	{ "notice", "bool", "A notice, later than the Probe", 8, nil, 2 },
	{ "dups", "uint16", "Came though asked for" },
	{ "bytes", "uint16", "Bytes of the bitmap" },
	{ "bitmap", "bytes", "Bitmap" },
	{ "lacks", "string", "Lacks" },
	{ "asker", "uint16", "Asker" },
	{ "waits", "bool", "The job is to wait meanwhile", 16, nil, 1 },
	{ "ready", "bool", "There is a state", 16, nil, 1 },
	{ "snapshot", "uint32", "Snapshot" },
	{ "first", "uint32", "First chunk" },
	{ "count", "uint16", "Chunks" },
	{ "results", "uint64", "Results in the state" },
	{ "size", "uint32", "Bytes of the state" },
	{ "state_crc", "uint32", "CRC-32C of the state", base.HEX },
	{ "chunk", "uint32", "Chunk" },
	{ "data", "bytes", "Data" },
	{ "nonce", "bytes", "Cookie: nonce" },
	{ "time", "uint64", "Cookie: time, ns; 0 none yet" },
	{ "tag", "bytes", "Cookie: tag" },
	{ "counter", "uint64", "MAC: counter" },
	{ "hash", "bytes", "MAC: hash" },
	{ "rest", "bytes", "Ignored" },
})
local ce = notes(control, {
	bad_length = "Shorter than its header, body, cookie and MAC",
	bad_action = "No such action",
	bad_type = "A Join of no known type or mode",
	bad_status = "No such status",
	snaplen = "Cut by the capture",
})

local df = fields(dlp, {
	{ "state", "uint8", "State", base.DEC, states },
	{ "node_count", "uint8", "Node count" },
	{ "step", "int32", "Step" },
	{ "elements", "uint16", "Elements" },
	{ "param", "int32", "Parameter" },
})
local de = notes(dlp, {
	bad_length = "Neither 30 bytes nor a vector's",
	bad_state = "No such state: taken as a poll",
	snaplen = "Cut by the capture",
})

-- Put a line at the top of a packet's tree and into the list of packets.
local function headline(tree, pinfo, name, text)
	pinfo.cols.protocol = name
	pinfo.cols.info = text
	tree:append_text(": " .. text)
end

-- Add a note that a packet has a wrong length, unless the capture has cut it.
local function note_length(tree, tvb, experts, name)
	tree:add_proto_expert_info(tvb:reported_len() > tvb:len() and
	    experts.snaplen or experts[name])
end

-- Is an element of a vector of binary32 infinite or NaN?
local function nonfinite(range)
	local raw = range:raw()
	for i = 4, #raw, 4 do
		local low, high = raw:byte(i - 1, i)
		if high % 128 == 127 and low >= 128 then
			return true
		end
	end
	return false
end

local function finite(x)
	return x == x and math.abs(x) ~= math.huge
end

-- Add the bytes from `at` on as a vector of `n` elements, and show the first few.
local function add_vector(tree, field, tvb, at, n)
	local range = tvb(at, 4 * n)
	local item = tree:add(field, range)
	local some = {}
	for i = 0, math.min(n, 4) - 1 do
		some[#some + 1] = ("%g"):format(range(4 * i, 4):le_float())
	end
	item:set_text(("Vector: %s%s"):format(table.concat(some, " "),
	    n > 4 and " ..." or ""))
	return range
end

-- Return the number of the first element in a packet with n of `elements`
-- elements, or nil if no such packet exists.
local function first_element(elements, n, following)
	if n == 0 or n > elements then
		return nil
	end
	if following == 0 then
		return elements - n
	end
	local packets = math.ceil(elements / n)
	if following >= packets then
		return nil
	end
	return (packets - 1 - following) * n
end

local function dissect_status(tvb, tree)
	tree:add(uf.occupancy, tvb(32, 3))
	tree:add(uf.filled, tvb(35, 1))
	tree:add(uf.full, tvb(35, 1))
	tree:add(uf.active, tvb(36, 2))
	tree:add(uf.capacity, tvb(38, 2))
end

-- Add the vector after a header of `head` bytes.
local function dissect_range(tvb, tree, head, elements, following)
	local bytes = tvb:len() - head
	local n = math.floor(bytes / 4)
	local first = bytes % 4 == 0 and tvb:len() == tvb:reported_len() and
	    first_element(elements, n, following)
	if not first then
		note_length(tree, tvb, ue, "bad_length")
		return
	end
	tree:add(uf.floats, tvb(head), n):set_generated()
	tree:add(uf.first, tvb(head), first):set_generated()
	if nonfinite(add_vector(tree, uf.vector, tvb, head, n)) then
		tree:add_proto_expert_info(ue.nonfinite)
	end
end

local function dissect_update(tvb, pinfo, root, tail)
	local tree = root:add(update, tvb())
	local head = tvb:len() - (tail or 0)
	if tail and head >= 0 and tvb:len() == tvb:reported_len() then
		tree:add(uf.counter, tvb(head, 8))
		tree:add(uf.proof, tvb(head + 8, 8))
		tvb = tvb(0, head):tvb()
	end
	if tvb:len() < UPDATE_BYTES then
		headline(tree, pinfo, "INNET", "update, cut short")
		note_length(tree, tvb, ue, "short")
		return
	end
	local kind, cluster = tvb(1, 1):uint(), tvb(2, 2):uint()
	local worker, sequence = tvb(4, 4):uint(), tvb(8, 4):uint()
	local merged, following = tvb(12, 2):uint(), tvb(14, 2):uint()
	local reward = tvb(24, 4):float()
	headline(tree, pinfo, "INNET",
	    ("%s, cluster %d, %s, sequence %.0f%s, reward %g"):format(
	    kinds[kind] or "kind " .. kind, cluster, worker == ALL_WORKERS and
	    "all workers" or ("worker %.0f"):format(worker), sequence,
	    merged ~= 1 and (", %d merged"):format(merged) or "", reward))
	tree:add(uf.version, tvb(0, 1))
	tree:add(uf.kind, tvb(1, 1))
	tree:add(uf.cluster, tvb(2, 2))
	tree:add(uf.worker, tvb(4, 4))
	tree:add(uf.sequence, tvb(8, 4))
	tree:add(uf.merged, tvb(12, 2))
	tree:add(uf.following, tvb(14, 2))
	tree:add(uf.generated, tvb(16, 8))
	tree:add(uf.reward, tvb(24, 4))
	tree:add(uf.elements, tvb(28, 4))
	if tvb(0, 1):uint() ~= 1 then
		tree:add_proto_expert_info(ue.bad_version)
		return
	elseif not kinds[kind] then
		tree:add_proto_expert_info(ue.bad_kind)
		return
	elseif kind == 1 and merged == 0 then
		tree:add_proto_expert_info(ue.bad_merged)
	end
	if not finite(reward) then
		tree:add_proto_expert_info(ue.nonfinite)
	end
	head = UPDATE_BYTES
	if kind == 2 then
		head = head + STATUS_BYTES
		if tvb:len() < head then
			note_length(tree, tvb, ue, "short")
			return
		end
		dissect_status(tvb, tree)
	end
	dissect_range(tvb, tree, head, tvb(28, 4):uint(), following)
end

local function dissect_segment(tvb, pinfo, root, proof)
	local tree = root:add(segment, tvb())
	local head = SEGMENT_BYTES + (proof or 0)
	local bytes = tvb:len() - head
	if bytes < 0 then
		headline(tree, pinfo, "INNET", "segment, cut short")
		note_length(tree, tvb, se, "bad_length")
		return
	end
	headline(tree, pinfo, "INNET",
	    ("segment %d of iteration %d, %d contributions"):format(
	    tvb(5, 3):uint(), tvb(0, 3):uint(), tvb(3, 2):uint()))
	tree:add(sf.iteration, tvb(0, 3))
	tree:add(sf.contributions, tvb(3, 2))
	tree:add(sf.index, tvb(5, 3))
	if proof then
		tree:add(sf.proof, tvb(SEGMENT_BYTES, proof))
	end
	if bytes == 0 or bytes % 4 ~= 0 or tvb:len() < tvb:reported_len() then
		note_length(tree, tvb, se, "bad_length")
		return
	end
	local n = bytes / 4
	tree:add(sf.floats, tvb(head), n):set_generated()
	if nonfinite(add_vector(tree, sf.vector, tvb, head, n)) then
		tree:add_proto_expert_info(se.nonfinite)
	end
end

-- Read the body of a control message field by field; `wide` says whether all fields
-- fitted.
local function reader(tree, body)
	local r = { at = 0, wide = true }
	local bytes = body and body:len() or 0
	function r.add(field, n)
		if not r.wide or r.at + n > bytes then
			r.wide = false
			return nil
		end
		local range = body(r.at, n)
		r.at = r.at + n
		tree:add(field, range)
		return range
	end
	-- Do the same with a byte that has several fields.
	function r.again(field, n)
		local range = r.add(field, n)
		r.at = range and r.at - n or r.at
		return range
	end
	function r.left()
		return r.wide and bytes - r.at or 0
	end
	function r.rest(field)
		if r.left() > 0 then
			tree:add(field, body(r.at))
			r.at = bytes
		end
	end
	return r
end

local function read_seg(r)
	r.add(cf.iteration, 3)
	r.add(cf.contributions, 2)
	r.add(cf.index, 3)
end

-- Return the first few indices of the bits in a bitmap from `base` on, as runs.
local function lacking(range, base)
	local raw, runs, first = range:raw(), {}, nil
	for k = 0, 8 * #raw do
		local byte = raw:byte(math.floor(k / 8) + 1) or 0
		local lacks = math.floor(byte / 2 ^ (k % 8)) % 2 == 1
		if lacks and not first then
			first = base + k
		elseif first and not lacks then
			local last = base + k - 1
			runs[#runs + 1] = first == last and ("%d"):format(first)
			    or ("%d-%d"):format(first, last)
			first = nil
			if #runs > 8 then
				runs[#runs] = "..."
				break
			end
		end
	end
	return table.concat(runs, " ")
end

-- Read the length and the bitmap of missing segments.
local function read_bitmap(r, tree, base)
	local bytes = r.add(cf.bytes, 2)
	if bytes and bytes:uint() > 0 then
		local bits = r.add(cf.bitmap, bytes:uint())
		if bits then
			tree:add(cf.lacks, bits, lacking(bits, base)):
			    set_generated()
		end
	end
end

-- Read the Seg of a Probe, NACK or STATE; return the index of the bitmap's first bit.
local function read_base(r)
	r.add(cf.iteration, 3)
	r.add(cf.contributions, 2)
	local base = r.add(cf.index, 3)
	return base and base:uint() or 0
end

-- Read a Help, Probe or NACK; a Probe and a NACK look alike if nothing was sent yet.
local function read_help(r, tree)
	if r.left() < PROBE_BYTES then
		read_seg(r)
		return nil
	end
	local base = read_base(r)
	local mark = r.add(cf.mark, 4)
	r.add(cf.seen, 4)
	r.add(cf.last, 3)
	local upto = r.add(cf.upto, 3)
	r.add(cf.round, 3)
	r.add(cf.last_round, 3)
	read_bitmap(r, tree, base)
	return mark:uint() == 0 and upto:uint() == 0 and ": NACK or Probe" or
	    ": Probe"
end

local function read_state(r, tree)
	local base = read_base(r)
	r.add(cf.mark, 4)
	r.add(cf.seen, 4)
	r.add(cf.resent, 3)
	r.again(cf.whole, 1)
	r.add(cf.notice, 1)
	r.add(cf.dups, 2)
	read_bitmap(r, tree, base)
end

-- The rule of a job, which may be absent.
local function read_rule(r)
	if r.left() >= 7 then
		r.add(cf.reduce, 1)
		r.add(cf.detail, 2)
		r.add(cf.straggler, 4)
	end
end

local function read_join(r, tree)
	local kind, mode = r.add(cf.type, 1), r.add(cf.mode, 1)
	if mode and (not types[kind:uint()] or not modes[mode:uint()]) then
		tree:add_proto_expert_info(ce.bad_type)
	end
	r.add(cf.cluster, 2)
	r.add(cf.worker, 4)
	r.add(cf.elements, 4)
	r.add(cf.floats, 2)
	r.add(cf.next, 4)
	r.add(cf.crc, 4)
	if r.left() > 0 then
		r.again(cf.again, 1)
		r.again(cf.repairs, 1)
		r.again(cf.gives, 1)
		r.again(cf.founds, 1)
		r.again(cf.can_hear, 1)
		r.again(cf.hears, 1)
		r.again(cf.wants_instance, 1)
		local wants = r.add(cf.wants_left, 1)
		if wants and wants:uint() >= 128 then
			r.add(cf.h, 2)
			read_rule(r)
		end
	end
end

local function read_page(r)
	r.add(cf.page, 2)
end

local function read_stats(r)
	read_page(r)
	if r.left() > 0 then
		r.add(cf.scope, 1)
	end
end

local function read_regroup(r)
	r.add(cf.worker, 4)
	r.add(cf.cluster, 2)
	r.add(cf.as, 4)
end

local function read_fetch(r)
	r.add(cf.asker, 2)
	r.add(cf.waits, 2)
	r.add(cf.worker, 4)
	r.add(cf.snapshot, 4)
	r.add(cf.first, 4)
	r.add(cf.count, 2)
end

local function read_chunk(r)
	r.add(cf.asker, 2)
	r.add(cf.ready, 2)
	r.add(cf.worker, 4)
	r.add(cf.snapshot, 4)
	r.add(cf.results, 8)
	r.add(cf.size, 4)
	r.add(cf.state_crc, 4)
	r.add(cf.chunk, 4)
	r.rest(cf.data)
end

local function read_left(r)
	r.add(cf.type, 1)
	r.add(cf.evicted, 1)
	r.add(cf.h, 2)
	r.add(cf.members, 2)
	r.add(cf.worker, 4)
	r.add(cf.ago, 4)
	r.add(cf.port, 2)
	r.add(cf.address, 16)
end

local bodies = {
	[1] = read_join,
	[4] = function(r) r.add(cf.h, 2) end,
	[5] = read_seg,
	[6] = read_help,
	[17] = read_page,
	[18] = read_stats,
	[20] = read_page,
	[21] = read_regroup,
	[22] = read_fetch,
	[23] = read_chunk,
	[24] = read_left,
}

local function read_text(r)
	r.add(cf.page, 2)
	r.add(cf.pages, 2)
	r.rest(cf.text)
end

local function read_salt(r)
	r.add(cf.salt, 16)
	r.add(cf.epoch, 4)
end

-- Read the fields after action and status in an Ack.
local answers = {
	[1] = function(r, status)
		r.add(cf.member, 2)
		r.add(cf.h, 2)
		r.add(cf.members, 2)
		r.add(cf.next, 4)
		r.add(cf.floats, 2)
		r.add(cf.elements, 4)
		r.add(cf.timeout, 2)
		if r.left() > 0 then
			r.again(cf.server, 1)
			r.again(cf.awaited, 1)
			r.again(cf.mends, 1)
			r.again(cf.async, 1)
			r.again(cf.spans, 1)
			r.again(cf.proven, 1)
			r.again(cf.groups, 1)
			local bits = r.add(cf.has_instance, 1)
			local function says(bit)
				return status == 0 and bits and math.floor(bits:uint() / bit) % 2 == 1
			end
			if says(16) then
				r.add(cf.span, 4)
			end
			if says(32) then
				read_salt(r)
			end
			if says(64) then
				r.add(cf.group_port, 2)
				r.add(cf.group, 16)
			end
			if says(128) then
				r.add(cf.instance, 4)
			end
			if status == 0 then
				read_rule(r)
			end
		end
		if status ~= 0 and status ~= 11 and r.left() > 0 then
			r.rest(cf.text)
		end
	end,
	[4] = function(r) r.add(cf.h, 2) end,
	[5] = function(r) r.add(cf.contributions, 2) end,
	[6] = function(r, status, tree)
		if status ~= 0 then
			read_seg(r)
		elseif r.left() >= STATE_BYTES - 2 then
			read_state(r, tree)
			return "STATE"
		end
	end,
	[17] = read_text,
	[18] = read_text,
	[19] = function(r, status)
		if status == 0 then
			read_salt(r)
		end
	end,
	[20] = read_text,
}

-- Return the text of an Ack for the list of packets, or nil if the Ack is truncated.
bodies[8] = function(r, tree)
	local acked, status = r.add(cf.acked, 1), r.add(cf.status, 1)
	if not status then
		return nil
	end
	acked, status = acked:uint(), status:uint()
	local said
	if not actions[acked] then
		tree:add_proto_expert_info(ce.bad_action)
	elseif answers[acked] and status ~= 7 and status ~= 9 then
		said = answers[acked](r, status, tree)
	end
	if not statuses[status] then
		tree:add_proto_expert_info(ce.bad_status)
	end
	return (" of %s: %s"):format(actions[acked] or "action " .. acked,
	    said or statuses[status] or "status " .. status)
end

-- Read a cookie and a MAC after the body, which ends at `at`.
local function read_trust(tree, tvb, at, proves, sealed)
	if proves then
		tree:add(cf.nonce, tvb(at, 8))
		tree:add(cf.time, tvb(at + 8, 8))
		tree:add(cf.tag, tvb(at + 16, 8))
		at = at + COOKIE_BYTES
	end
	if sealed then
		tree:add(cf.counter, tvb(at, 8))
		tree:add(cf.hash, tvb(at + 8, 16))
	end
end

local function dissect_control(tvb, pinfo, root)
	local tree = root:add(control, tvb())
	if tvb:len() < CONTROL_BYTES then
		headline(tree, pinfo, "INNET", "control, cut short")
		note_length(tree, tvb, ce, "bad_length")
		return
	end
	local action, job = tvb(0, 1):uint(), tvb(2, 2):uint()
	local flags = tvb(1, 1):uint()
	local proves = math.floor(flags / 2) % 2 == 1
	local sealed = math.floor(flags / 4) % 2 == 1
	local bytes = tvb:len() - (proves and COOKIE_BYTES or 0) -
	    (sealed and MAC_BYTES or 0)
	tree:add(cf.action, tvb(0, 1))
	tree:add(cf.flags, tvb(1, 1))
	tree:add(cf.proves, tvb(1, 1))
	tree:add(cf.sealed, tvb(1, 1))
	tree:add(cf.commands, tvb(1, 1))
	tree:add(cf.job, tvb(2, 2))
	tree:add(cf.xid, tvb(4, 4))
	local more
	if bytes < CONTROL_BYTES then
		note_length(tree, tvb, ce, "bad_length")
	elseif not actions[action] then
		tree:add_proto_expert_info(ce.bad_action)
	else
		local body = bytes > CONTROL_BYTES and
		    tvb(CONTROL_BYTES, bytes - CONTROL_BYTES):tvb()
		local r = reader(tree, body)
		if bodies[action] then
			more = bodies[action](r, tree)
		end
		if not r.wide then
			note_length(tree, tvb, ce, "bad_length")
		end
		r.rest(cf.rest)
	end
	if bytes >= CONTROL_BYTES then
		read_trust(tree, tvb, bytes, proves, sealed)
	end
	headline(tree, pinfo, "INNET", ("%s%s, job %d"):format(
	    actions[action] or "action " .. action, more or "", job))
end

function dlp.dissector(tvb, pinfo, root)
	local tree = root:add(dlp, tvb())
	local vector = tvb:len() > DLP_BYTES and
	    tvb(0, 1):uint() == DLP_VECTOR and tvb(6, 2):uint() or 0
	if tvb:len() ~= (vector > 0 and 8 + 4 * vector or DLP_BYTES) then
		headline(tree, pinfo, "DLP", ("%d bytes"):format(tvb:len()))
		note_length(tree, tvb, de, "bad_length")
		return tvb:len()
	end
	local state = tvb(0, 1):uint()
	headline(tree, pinfo, "DLP", ("%s, step %d, %d workers"):format(
	    states[state] or "state " .. state, tvb(2, 4):int(),
	    tvb(1, 1):uint()))
	tree:add(df.state, tvb(0, 1))
	tree:add(df.node_count, tvb(1, 1))
	tree:add(df.step, tvb(2, 4))
	if vector > 0 then
		tree:add(df.elements, tvb(6, 2))
	end
	for at = vector > 0 and 8 or 6, tvb:len() - 4, 4 do
		tree:add(df.param, tvb(at, 4))
	end
	if not states[state] or (state == DLP_VECTOR and vector == 0) then
		tree:add_proto_expert_info(de.bad_state)
	end
	return tvb:len()
end

local by_dscp = {
	[3] = dissect_control,
	[7] = dissect_segment,
	[11] = dissect_update,
	[15] = function(tvb, pinfo, root)
		dissect_segment(tvb, pinfo, root, TAG_BYTES)
	end,
	[19] = function(tvb, pinfo, root)
		dissect_update(tvb, pinfo, root, TAIL_BYTES)
	end,
}
local dscp4 = Field.new("ip.dsfield.dscp")
local dscp6 = Field.new("ipv6.tclass.dscp")

-- Return the DSCP of the innermost IP header before this datagram.
local function dscp()
	local all = { dscp4() }
	if #all == 0 then
		all = { dscp6() }
	end
	return #all > 0 and all[#all].value or nil
end

update:register_heuristic("udp", function(tvb, pinfo, root)
	local dissect = by_dscp[dscp()]
	if not dissect then
		return false
	end
	dissect(tvb, pinfo, root)
	return true
end)

local ports = DissectorTable.get("udp.port")
dlp.prefs.ports = Pref.range("UDP ports", "1234,12344",
    "Ports of a switch and of a server that speak DLP", 65535)
ports:add(dlp.prefs.ports, dlp)
local listed = dlp.prefs.ports
function dlp.prefs_changed()
	ports:remove(listed, dlp)
	listed = dlp.prefs.ports
	ports:add(listed, dlp)
end

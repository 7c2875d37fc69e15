# dlp.bash - write children for workers of DLP

# child FACTOR STEPS SECONDS: child.py is a child that sends, at step i, FACTOR
# times i and its negative, SECONDS after the previous answer. It prints its
# hello, and each answer: step, contributions and sums.
child() {
	cat >child.py <<-'E'
		import struct, sys, time
		head = struct.Struct('<4sHHIfQII')
		factor, steps, seconds = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
		def say(kind, body, n):
		    sys.stdout.buffer.write(head.pack(b'INET', kind, 0, n, 0, 0, 1, 0) + body)
		    sys.stdout.buffer.flush()
		def hear():
		    h = head.unpack(sys.stdin.buffer.read(32))
		    return h, sys.stdin.buffer.read(h[3] if h[1] == 1 else 4 * h[3])
		say(1, b'{"elements":2}', 14)
		say(4, bytes(8), 2)
		print(hear()[1].decode(), file=sys.stderr)
		for i in range(1, steps + 1):
		    time.sleep(seconds)
		    say(2, struct.pack('<2f', factor * i, -factor * i), 2)
		    h, body = hear()
		    print('step %d: %d of %g %g' % (h[5], h[6], *struct.unpack('<2f', body)), file=sys.stderr)
	E
}

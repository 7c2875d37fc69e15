/*
 * ebpf.h - assemble eBPF programs, and load them with bpf(2)
 *
 * The caller assembles a program instruction by instruction.
 * ebpf_jump_to_exit() directs a jump to the common exit, which ebpf_finish()
 * writes.  This file does not use the kernel's header, because the header of an
 * old system lacks half of the needed definitions, and because libpcap defines
 * another bpf_insn.  Descriptors belong to the caller.  Every call that creates
 * a descriptor returns -1 with errno on failure.
 */
#ifndef INNET_SWITCH_INPATH_EBPF_H
#define INNET_SWITCH_INPATH_EBPF_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The numbers from the kernel's uapi/linux/bpf.h that are used here. */
enum {
	/* parts of an instruction: class, size or operation, source */
	EBPF_LD = 0, EBPF_LDX = 1, EBPF_STX = 3, EBPF_JMP = 5, EBPF_ALU64 = 7,
	EBPF_W = 0, EBPF_H = 8, EBPF_B = 16, EBPF_DW = 24,
	EBPF_IMM = 0, EBPF_MEM = 0x60, EBPF_K = 0, EBPF_X = 8,
	EBPF_ADD = 0, EBPF_SUB = 0x10, EBPF_OR = 0x40, EBPF_AND = 0x50,
	EBPF_LSH = 0x60, EBPF_RSH = 0x70, EBPF_MOV = 0xb0,
	EBPF_JA = 0, EBPF_JEQ = 0x10, EBPF_JNE = 0x50, EBPF_JSGT = 0x60,
	EBPF_CALL = 0x80, EBPF_EXIT = 0x90,
	/* functions of the kernel that programs call */
	EBPF_CLOCK = 5,			/* ktime_get_ns */
	EBPF_REDIRECT = 23,
	EBPF_LOAD_BYTES = 26,		/* skb_load_bytes */
	EBPF_REDIRECT_MAP = 51,
	EBPF_LOAD_BYTES_XDP = 189,	/* xdp_load_bytes, Linux 5.18 */
	/* commands of bpf(2) */
	EBPF_MAP_CREATE = 0, EBPF_MAP_UPDATE = 2, EBPF_PROG_LOAD = 5,
	EBPF_LINK_CREATE = 28,
	/* kinds of maps and programs, and the hooks of programs */
	EBPF_ARRAY = 2, EBPF_XSK_MAP = 17,	/* of AF_XDP sockets */
	EBPF_OF_SOCKET = 1, EBPF_OF_HOOK = 3, EBPF_OF_XDP = 6,
	EBPF_AT_INGRESS = 46, EBPF_AT_EGRESS = 47,	/* tcx, Linux 6.6 */
	EBPF_AT_XDP = 37,
	EBPF_GENERIC = 2, EBPF_NATIVE = 4,	/* flags of an XDP link */
	EBPF_SHARED_MAP = 1 << 10,	/* the map can be mapped with mmap(2),
					 * Linux 5.5 */
	/* load a map, or the address of its only value (Linux 5.2) */
	EBPF_MAP_ITSELF = 1, EBPF_VALUE_OF_MAP = 2,
	/* limits of a struct ebpf_code */
	EBPF_CODE_MAX = 128, EBPF_LEAVES_MAX = 32
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EBPF_REGS(to, from) ((uint8_t)((to) | (from) << 4))
#else
#define EBPF_REGS(to, from) ((uint8_t)((to) << 4 | (from)))
#endif

struct ebpf_instruction {
	uint8_t code;
	uint8_t regs;			/* EBPF_REGS() */
	int16_t off;
	int32_t imm;
};

struct ebpf_code {
	struct ebpf_instruction in[EBPF_CODE_MAX];
	int n;
	int leave[EBPF_LEAVES_MAX];	/* indexes of the jumps to the exit */
	int leaves;
};

/* Append an instruction, and return its index. */
static inline int ebpf_emit(struct ebpf_code *c, int code, int to, int from,
    int off, int32_t imm);

/* Direct the jump at index k to the instruction that is emitted next. */
static inline void ebpf_set_target(struct ebpf_code *c, int k);

/* Copy the register `from` to the register `to`. */
static inline void ebpf_move(struct ebpf_code *c, int to, int from);

/* Set a register to a number. */
static inline void ebpf_set(struct ebpf_code *c, int to, int32_t value);

/* Apply the operation `op` to a register and a number. */
static inline void ebpf_compute(struct ebpf_code *c, int op, int to,
    int32_t value);

/*
 * Load a value of the given size from the address `base` + `off` into a
 * register.
 */
static inline void ebpf_load(struct ebpf_code *c, int size, int to, int base,
    int off);

/* Call a function of the kernel; registers 1 to 5 are its arguments. */
static inline void ebpf_call(struct ebpf_code *c, int function);

/*
 * Emit a jump that is taken if the comparison `how` of a register with a number
 * is true.  The target of the jump is set later.  Returns the index of the
 * jump.
 */
static inline int ebpf_jump_if(struct ebpf_code *c, int how, int reg,
    int32_t value);

/*
 * Emit a jump that is taken if the comparison `how` of two registers is true.
 */
static inline int ebpf_jump_if_register(struct ebpf_code *c, int how, int reg,
    int other);

/* Direct a jump to the common exit. */
static inline void ebpf_jump_to_exit(struct ebpf_code *c, int jump);

/* Load a map, or the address of its only value, into a register. */
static inline void ebpf_load_map(struct ebpf_code *c, int to, int map,
    int what);

/* Load the address of the only value of a map into a register. */
static inline void ebpf_load_map_value(struct ebpf_code *c, int to, int map);

/*
 * End the program with the value of register 0.  A jump to the common exit ends
 * the program with the value `left`.
 */
static inline void ebpf_finish(struct ebpf_code *c, int32_t left);

/*
 * Load a program.  If `log` is not NULL, the verifier writes its output there.
 */
static inline int ebpf_load_program(const struct ebpf_code *c, int kind,
    char *log, uint32_t log_bytes);

/*
 * Attach a program to a hook of an interface.  The program stays attached until
 * the caller closes the returned link.
 */
static inline int ebpf_attach_program(int program, uint32_t interface, int at,
    uint32_t flags);

/* Create a map. */
static inline int ebpf_create_map(int kind, uint32_t bytes, uint32_t entries,
    uint32_t flags);

/* Create a map of one value that this process shares through mmap(2). */
static inline int ebpf_create_shared_map(uint32_t bytes);

/* Set entry k of a map of descriptors. */
static inline int ebpf_map_set_fd(int map, uint32_t k, int fd);

/* implementation */

static inline int
ebpf_emit(struct ebpf_code *c, int code, int to, int from, int off,
    int32_t imm)
{
	assert(c->n < EBPF_CODE_MAX);
	c->in[c->n] = (struct ebpf_instruction){ .code = (uint8_t)code,
	    .regs = EBPF_REGS(to, from),
	    .off = (int16_t)off, .imm = imm };
	return c->n++;
}

static inline void
ebpf_set_target(struct ebpf_code *c, int k)
{
	c->in[k].off = (int16_t)(c->n - k - 1);
}

static inline void
ebpf_move(struct ebpf_code *c, int to, int from)
{
	ebpf_emit(c, EBPF_ALU64 | EBPF_MOV | EBPF_X, to, from, 0, 0);
}

static inline void
ebpf_set(struct ebpf_code *c, int to, int32_t value)
{
	ebpf_emit(c, EBPF_ALU64 | EBPF_MOV | EBPF_K, to, 0, 0, value);
}

static inline void
ebpf_compute(struct ebpf_code *c, int op, int to, int32_t value)
{
	ebpf_emit(c, EBPF_ALU64 | op | EBPF_K, to, 0, 0, value);
}

static inline void
ebpf_load(struct ebpf_code *c, int size, int to, int base, int off)
{
	ebpf_emit(c, EBPF_LDX | EBPF_MEM | size, to, base, off, 0);
}

static inline void
ebpf_call(struct ebpf_code *c, int function)
{
	ebpf_emit(c, EBPF_JMP | EBPF_CALL, 0, 0, 0, function);
}

static inline int
ebpf_jump_if(struct ebpf_code *c, int how, int reg, int32_t value)
{
	return ebpf_emit(c, EBPF_JMP | how | EBPF_K, reg, 0, 0, value);
}

static inline int
ebpf_jump_if_register(struct ebpf_code *c, int how, int reg, int other)
{
	return ebpf_emit(c, EBPF_JMP | how | EBPF_X, reg, other, 0, 0);
}

static inline void
ebpf_jump_to_exit(struct ebpf_code *c, int jump)
{
	assert(c->leaves < EBPF_LEAVES_MAX);
	c->leave[c->leaves++] = jump;
}

static inline void
ebpf_load_map(struct ebpf_code *c, int to, int map, int what)
{
	ebpf_emit(c, EBPF_LD | EBPF_DW | EBPF_IMM, to, what, 0, map);
	ebpf_emit(c, 0, 0, 0, 0, 0);
}

static inline void
ebpf_load_map_value(struct ebpf_code *c, int to, int map)
{
	ebpf_load_map(c, to, map, EBPF_VALUE_OF_MAP);
}

static inline void
ebpf_finish(struct ebpf_code *c, int32_t left)
{
	ebpf_emit(c, EBPF_JMP | EBPF_EXIT, 0, 0, 0, 0);
	for (int i = 0; i < c->leaves; i++)
		ebpf_set_target(c, c->leave[i]);
	ebpf_set(c, 0, left);
	ebpf_emit(c, EBPF_JMP | EBPF_EXIT, 0, 0, 0, 0);
}

/* Call bpf(2) with a command and its arguments, a struct of `bytes` bytes. */
static inline int
ebpf_syscall(int command, const void *args, size_t bytes)
{
	return (int)syscall(SYS_bpf, command, args, bytes);
}

static inline int
ebpf_load_program(const struct ebpf_code *c, int kind, char *log,
    uint32_t log_bytes)
{
	const struct {
		uint32_t kind, n;
		uint64_t in, license;
		uint32_t log_level, log_bytes;
		uint64_t log;
		uint32_t version, flags;
		char name[16];
		uint32_t interface, at;
	} a = { .kind = (uint32_t)kind, .n = (uint32_t)c->n,
	    .in = (uintptr_t)c->in, .license = (uintptr_t)"GPL",
	    .log_level = log != NULL, .log = (uintptr_t)log,
	    .log_bytes = log == NULL ? 0 : log_bytes, .name = "innet",
	    .at = kind == EBPF_OF_XDP ? EBPF_AT_XDP : 0 };

	return ebpf_syscall(EBPF_PROG_LOAD, &a, sizeof(a));
}

static inline int
ebpf_attach_program(int program, uint32_t interface, int at, uint32_t flags)
{
	const struct {
		uint32_t program, interface, at, flags;
	} a = { (uint32_t)program, interface, (uint32_t)at, flags };

	return ebpf_syscall(EBPF_LINK_CREATE, &a, sizeof(a));
}

static inline int
ebpf_create_map(int kind, uint32_t bytes, uint32_t entries, uint32_t flags)
{
	const struct {
		uint32_t kind, key_bytes, value_bytes, entries, flags;
	} a = { (uint32_t)kind, 4, bytes, entries, flags };

	return ebpf_syscall(EBPF_MAP_CREATE, &a, sizeof(a));
}

static inline int
ebpf_create_shared_map(uint32_t bytes)
{
	return ebpf_create_map(EBPF_ARRAY, bytes, 1, EBPF_SHARED_MAP);
}

static inline int
ebpf_map_set_fd(int map, uint32_t k, int fd)
{
	const struct {
		uint32_t map, pad;
		uint64_t key, value, flags;
	} a = { .map = (uint32_t)map, .key = (uintptr_t)&k,
	    .value = (uintptr_t)&fd };

	return ebpf_syscall(EBPF_MAP_UPDATE, &a, sizeof(a));
}

#endif

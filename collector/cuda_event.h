/*
 * What the programs in the kernel send: one event a driver call, with the stack of its thread.
 *
 * Shape    records of the events ring: struct cuda_event alone (frees, exits, execs, calls
 *          whose stack was left out), or struct cuda_stack_event with room for 8, 16, 32 or
 *          64 KiB of stack behind it; a record is one with a stack if it is long enough. INIT
 *          has registers, thread pointer and exec identity, and room for no stack. Records of
 *          the definitions ring: struct code_definition. Fixed widths, no pointers, no
 *          padding that is not named.
 * Order    one ring for all CPUs: an allocation is sent when the call returns, a free when
 *          it is entered, so nobody's free is in front of its allocation.
 * Units    bytes; times are nanoseconds of the boot-time clock.
 * Source   collector specification 4.2, 4.5; unwinding specification 5.2, 5.5
 */
#ifndef COLLECTOR_CUDA_EVENT_H
#define COLLECTOR_CUDA_EVENT_H

#ifndef __BPF__
#include <linux/types.h>
#endif

#define COMM_BYTES           16 /* of a task's name, NUL included */
#define STACK_REGISTER_COUNT 17 /* numbered as DWARF does: 6 rbp, 7 rsp, 16 rip */
#define STACK_REGISTER_RBX   3
#define STACK_REGISTER_RBP   6
#define STACK_REGISTER_RSP   7
#define STACK_REGISTER_RIP   16
#define RETURN_PROBES_MAX    8
#define PYTHON_FRAMES_MAX    256
#define STACK_PAGE           4096
#define STACK_BYTES_MIN      8192 /* of the smallest record with a stack */
#define STACK_BYTES_MAX      65536
#define CODE_NAME_BYTES      256         /* of a name or a file's path */
#define CODE_TABLE_BYTES     4096        /* of a line table: some 1,000 lines */
#define CODE_TABLE_UNREAD    0xffffffffU /* its memory was not there */

enum cuda_event_kind {
	CUDA_EVENT_ALLOC = 1,   /* address and bytes were given out */
	CUDA_EVENT_FREE,        /* address is about to be freed */
	CUDA_EVENT_FREE_UNDONE, /* the free of that address has failed: it is live again */
	CUDA_EVENT_FAILED,      /* an allocation of `bytes` failed with `result` */
	CUDA_EVENT_EXIT,        /* the last thread of the process has ended */
	CUDA_EVENT_INIT,        /* cuInit was entered: prepare for this process */
	CUDA_EVENT_EXEC,     /* the process runs another program: what the old one held is gone */
	CUDA_EVENT_DONE,     /* a call of another role has succeeded */
	CUDA_EVENT_UNMAP,    /* bytes at address are about to be unmapped */
	CUDA_EVENT_UNMAPPED, /* that call has ended with `result` */
	CUDA_EVENT_KIND_COUNT,
};

enum cuda_event_flag {
	CUDA_EVENT_SAMPLED = 1 << 0,       /* beyond the storm limit: the stack was left out */
	CUDA_EVENT_NO_ADDRESS = 1 << 1,    /* the result could not be read */
	CUDA_EVENT_STACK_DROPPED = 1 << 2, /* the ring was nearly full: the stack was left out */
	CUDA_EVENT_ON_HOST = 1 << 3,       /* of physical memory: pinned memory of the host */
	CUDA_EVENT_CONTEXT_SEEN = 1 << 4,  /* whatever makes contexts current has a probe */
};

/* One driver call. */
struct cuda_event {
	__u16 kind;
	__u16 function; /* a line of cuda_functions.def */
	__u16 device;   /* 1 + its number in the process; 0: not known */
	__u16 reserved;
	__u32 tgid;
	__u32 tid;
	__u64 process_start_ns; /* with tgid: one process, even when ids are used again */
	__u64 time_ns;
	__u64 duration_ns; /* inside the call; 0 for kinds that are sent at entry */
	__u64 address;
	__u64 bytes;
	__u64 other;           /* what its role says (cuda_function.h); 0: nothing */
	__u64 context;         /* current in the thread, as far as was seen; 0: not known */
	__s32 result;          /* CUresult */
	__u32 flags;           /* of cuda_event_flag */
	char comm[COMM_BYTES]; /* of the main thread */
};

/*
 * A program as exec made it: forked children have the same, after every exec it is another.
 * Only the kernel's own value counts; it is never rebuilt from /proc.
 */
struct exec_identity {
	__u64 start_code;
	__u64 start_stack;
	__u64 arg_start;
	__u64 inode;
};

enum python_frame_flag {
	PYTHON_FRAME_ENTRY = 1 << 0, /* outermost frame of one run of the evaluation loop */
	PYTHON_FRAME_SHIM = 1 << 1,  /* an interpreter's shim frame follows it */
};

/* One Python frame, innermost first. */
struct python_frame {
	__u64 code;     /* address of the code object */
	__u64 marker;   /* of an entry, or of the last of a chain that was cut: an address
	                   inside the native frame of its loop; 0: none */
	__u64 type;     /* 3.8-3.10: type of the first argument (self, cls); 0: none */
	__s32 position; /* of the instruction: bytes (3.8-3.10) or code units; -1 before start */
	__u32 first_line;
	__u32 flags; /* of python_frame_flag */
	__u32 tag;   /* another one for each code object at an address: python_code_tag() */
};

/* A return address that a return probe has replaced on the stack. */
struct return_probe {
	__u64 slot;    /* where on the stack it stood */
	__u64 address; /* the true one */
};

enum captured_stack_flag {
	CAPTURED_STACK_TRUNCATED = 1 << 0,  /* there was more stack than was copied */
	CAPTURED_PYTHON_TRUNCATED = 1 << 1, /* there were more Python frames */
	CAPTURED_PYTHON_UNKNOWN = 1 << 2,   /* no description of this program's interpreter */
	CAPTURED_STACK_HOLES = 1 << 3,      /* pages that were not in memory are zero */
};

/* A thread inside a driver call: registers, copied stack, Python frames. */
struct captured_stack {
	__u64 registers[STACK_REGISTER_COUNT]; /* of the caller: taken at the return */
	__u64 thread_pointer;                  /* fs base */
	__u64 python_state;                    /* PyThreadState; 0: none */
	struct exec_identity exec;
	__u64 base; /* address of the first copied byte: the stack pointer */
	__u32 length;
	__u32 flags; /* of captured_stack_flag */
	__u32 python_count;
	__u32 return_probe_count;
	struct return_probe return_probes[RETURN_PROBES_MAX];
	struct python_frame python[PYTHON_FRAMES_MAX];
};

struct cuda_stack_event {
	struct cuda_event call;
	struct captured_stack stack;
	__u8 bytes[]; /* stack.length of them count */
};

/* How the characters of a string are sent. */
enum code_string_kind {
	CODE_STRING_UNREAD = 0, /* its memory was not there */
	CODE_STRING_LATIN1 = 1, /* of one byte each; ASCII too */
	CODE_STRING_UCS2 = 2,
	CODE_STRING_UCS4 = 4,
	CODE_STRING_UTF8 = 8, /* no string object: a C string */
};

struct code_string {
	__u32 kind;   /* of code_string_kind */
	__u32 length; /* characters (UTF-8: bytes), also of what is not sent */
};

enum code_definition_kind {
	CODE_DEFINITION_CODE = 1, /* a code object: name, file, line table */
	CODE_DEFINITION_TYPE,     /* a type: its name */
};

/* The names of a code object (or a type), sent at its first sight in a process. */
struct code_definition {
	__u32 kind;    /* of code_definition_kind */
	__u32 version; /* of the interpreter: 0x030c for 3.12 */
	__u32 tgid;
	__u32 first_line;
	__u64 process_start_ns;
	__u64 object;
	struct exec_identity exec;
	struct code_string name_string;
	struct code_string file_string;
	__u32 table_length;         /* of the whole line table, or CODE_TABLE_UNREAD */
	__u32 tag;                  /* as of its frames; 0 for a type */
	__u8 name[CODE_NAME_BYTES]; /* qualified since 3.11; a type's tp_name */
	__u8 file[CODE_NAME_BYTES];
	__u8 table[CODE_TABLE_BYTES];
};

/* How many bytes of a definition say something: the place of the table is seldom full. */
static inline __u64 code_definition_bytes(const struct code_definition *definition)
{
	const __u64 whole = sizeof(*definition);

	if (definition->table_length == CODE_TABLE_UNREAD)
		return whole - CODE_TABLE_BYTES;
	if (definition->table_length > CODE_TABLE_BYTES)
		return whole;
	return whole - CODE_TABLE_BYTES + definition->table_length;
}

#endif

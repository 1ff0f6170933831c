/*
 * What the programs in the kernel send: one event a driver call, with the stack of its thread.
 *
 * Shape    records of the events ring: struct cuda_event alone (frees, failures without a
 *          stack, exits, calls beyond the storm limit), or struct cuda_stack_event with
 *          1 << n KiB of stack behind it. Records of the definitions ring: struct
 *          code_definition. Fixed widths, no pointers, no padding that is not named.
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
#define STACK_BYTES_MAX      65536
#define CODE_NAME_BYTES      64
#define CODE_PATH_BYTES      256
#define CODE_TABLE_BYTES     512

enum cuda_event_kind {
	CUDA_EVENT_ALLOC = 1,   /* address and bytes were given out */
	CUDA_EVENT_FREE,        /* address is about to be freed */
	CUDA_EVENT_FREE_UNDONE, /* the free of that address has failed: it is live again */
	CUDA_EVENT_FAILED,      /* an allocation of `bytes` failed with `result` */
	CUDA_EVENT_EXIT,        /* the last thread of the process has ended */
	CUDA_EVENT_INIT,        /* cuInit was entered: prepare for this process */
};

enum cuda_event_flag {
	CUDA_EVENT_SAMPLED = 1 << 0,   /* beyond the storm limit: the stack was left out */
	CUDA_EVENT_NO_ADDRESS = 1 << 1 /* the result could not be read */
};

/* One driver call. */
struct cuda_event {
	__u32 kind;
	__u32 function; /* a line of cuda_functions.def */
	__u32 tgid;
	__u32 tid;
	__u64 process_start_ns; /* with tgid: one process, even when ids are used again */
	__u64 time_ns;
	__u64 duration_ns; /* inside the call; 0 for kinds that are sent at entry */
	__u64 address;
	__u64 bytes;
	__s32 result; /* CUresult */
	__u32 flags;  /* of cuda_event_flag */
	char comm[COMM_BYTES];
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
	__u64 code;   /* address of the code object */
	__u64 marker; /* an address inside the loop's native frame; 0: none */
	__u64 type;   /* 3.8-3.10: type of the first argument (self, cls); 0: none */
	__s32 position; /* of the instruction: bytes (3.8-3.10) or code units; -1 before start */
	__u32 first_line;
	__u32 flags; /* of python_frame_flag */
	__u32 reserved;
};

/* A return address that a return probe has replaced on the stack. */
struct return_probe {
	__u64 slot;    /* stack pointer behind the slot that holds it */
	__u64 address; /* the true one */
};

enum captured_stack_flag {
	CAPTURED_STACK_TRUNCATED = 1 << 0,  /* there was more stack than was copied */
	CAPTURED_PYTHON_TRUNCATED = 1 << 1, /* there were more Python frames */
	CAPTURED_PYTHON_UNKNOWN = 1 << 2,   /* no description of this program's interpreter */
};

/* A thread inside a driver call: registers, copied stack, Python frames. */
struct captured_stack {
	__u64 registers[STACK_REGISTER_COUNT]; /* of the caller: taken at the return */
	__u64 thread_pointer;                  /* fs base */
	__u64 python_state;                    /* PyThreadState; 0: none */
	struct exec_identity exec;
	__u64 base; /* address of the first copied byte */
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

/* A Python string as it lies in memory. */
struct code_string {
	__u32 state;  /* of PyUnicodeObject: kind, compact, ASCII */
	__u32 length; /* characters */
};

enum code_definition_kind {
	CODE_DEFINITION_CODE = 1, /* a code object: name, qualified name, file, line table */
	CODE_DEFINITION_TYPE,     /* a type: its tp_name, in `qualified_name` */
};

/* The names of a code object (or a type), sent at its first sight in a process. */
struct code_definition {
	__u32 kind;
	__u32 tgid;
	__u64 process_start_ns;
	__u64 object;
	struct exec_identity exec;
	__u32 first_line;
	__u32 table_length; /* of the whole line table */
	struct code_string strings[3]; /* of the three below */
	__u8 name[CODE_NAME_BYTES];
	__u8 qualified_name[CODE_PATH_BYTES];
	__u8 file[CODE_PATH_BYTES];
	__u8 table[CODE_TABLE_BYTES];
};

#endif

/*
 * What is so on x86-64 and would be otherwise elsewhere: the one place for it.
 *
 * Source   System V ABI, AMD64 supplement (DWARF register numbers); unwinding
 *          specification 6.4, 6.5 and 8
 */
#pragma once

#include <elf.h>

#include "collector/cuda_event.h"

#define ARCHITECTURE_ELF_MACHINE EM_X86_64
#define ARCHITECTURE_NAME        "x86-64"

#define REGISTER_COUNT          STACK_REGISTER_COUNT
#define REGISTER_FRAME_POINTER  STACK_REGISTER_RBP
#define REGISTER_STACK_POINTER  STACK_REGISTER_RSP
#define REGISTER_RETURN_ADDRESS STACK_REGISTER_RIP

#define ADDRESS_BYTES 8
#define PAGE_BYTES    UINT64_C(4096)

/* A call pushes the return address: the slot below the CFA holds it. */
#define RETURN_SLOT_BYTES ADDRESS_BYTES

/*
 * What CPython runs before each Python function with -X perf. The return address that lies on
 * the stack is that of the instruction behind the call.
 *
 * To 3.13: sub $8,%rsp; call *%rcx; add $8,%rsp; ret. Since 3.14: push %rbp; mov %rsp,%rbp;
 * call *%rcx; pop %rbp; ret.
 */
#define PERF_TRAMPOLINE              "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"
#define PERF_TRAMPOLINE_PUSHES       "\x55\x48\x89\xe5\xff\xd1\x5d\xc3"
#define PERF_TRAMPOLINE_BYTES        (sizeof(PERF_TRAMPOLINE) - 1)
#define PERF_TRAMPOLINE_PUSHES_BYTES (sizeof(PERF_TRAMPOLINE_PUSHES) - 1)
#define PERF_TRAMPOLINE_RETURN       6 /* bytes before the return address, of both */
#define PERF_TRAMPOLINE_FRAME        8 /* bytes between the stack pointer and the return slot */

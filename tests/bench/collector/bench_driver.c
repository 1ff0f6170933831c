/*
 * A libcuda.so.1 whose calls cost next to nothing, so that what a probe adds is what is
 * measured. FIRST_INSTRUCTION decides how the kernel gets over the probed instruction:
 * `push %rbp` is emulated, `mov` is single-stepped.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

int bench_alloc(uint64_t *address, size_t bytes);
int bench_free(uint64_t address);
int bench_set(const void *context);
int cuDeviceGetCount(int *count);
int cuInit(unsigned flags);

static _Atomic uint64_t next = UINT64_C(0x7f0000000000);

__attribute__((visibility("hidden"), used)) int bench_alloc(uint64_t *address, size_t bytes)
{
	*address = atomic_fetch_add_explicit(&next, bytes, memory_order_relaxed);
	return 0;
}

__attribute__((visibility("hidden"), used)) int bench_free(uint64_t address)
{
	return address == 0;
}

__attribute__((visibility("hidden"), used)) int bench_set(const void *context)
{
	return context == 0;
}

/* What the caller says. */
int bench_device_count = 1;

int cuDeviceGetCount(int *count)
{
	*count = bench_device_count;
	return 0;
}

int cuInit(unsigned flags)
{
	return flags != 0;
}

#if FIRST_PUSH
#define BODY(function) "	push %rbp\n	call " #function "\n	pop %rbp\n	ret\n"
#else
#define BODY(function)                                                                                   \
	"	mov %rsp, %rax\n	sub $8, %rsp\n	.cfi_adjust_cfa_offset 8\n	call " #function \
	"\n	add $8, %rsp\n	.cfi_adjust_cfa_offset -8\n	ret\n"
#endif

#define EXPORT(name, function)                                                                \
	__asm__(".text\n	.globl " #name "\n	.type " #name ", @function\n" #name   \
	        ":\n	.cfi_startproc\n" BODY(function) "	.cfi_endproc\n	.size " #name \
	                                                 ", . - " #name "\n")

EXPORT(cuMemAlloc_v2, bench_alloc);
EXPORT(cuMemFree_v2, bench_free);
EXPORT(cuCtxSetCurrent, bench_set);

/*
 * Functions whose first instruction is what the kernel treats in ways of its own: a nop of
 * five bytes (Linux 6.18 calls its handler from there), and endbr64 (executed elsewhere, one
 * step at a time). The compiler begins the others with a push, which is emulated.
 */
#include "tests/collector/stub/stub_driver.h"

int stub_alloc_host(void **address, size_t bytes);
int stub_alloc_from_pool(uint64_t *address, size_t bytes, void *pool, void *stream);

__attribute__((used)) int stub_alloc_host(void **address, size_t bytes)
{
	return cuMemHostAlloc(address, bytes, 0);
}

__attribute__((used)) int stub_alloc_from_pool(uint64_t *address, size_t bytes, void *pool,
                                               void *stream)
{
	(void)pool;
	return cuMemAllocAsync_ptsz(address, bytes, stream);
}

__asm__(".text\n"
        ".p2align 4\n"
        ".globl cuMemAllocHost_v2\n"
        ".type cuMemAllocHost_v2, @function\n"
        "cuMemAllocHost_v2:\n"
        "	.cfi_startproc\n"
        "	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
        "	jmp stub_alloc_host@PLT\n"
        "	.cfi_endproc\n"
        ".size cuMemAllocHost_v2, . - cuMemAllocHost_v2\n"
        ".p2align 4\n"
        ".globl cuMemAllocFromPoolAsync\n"
        ".type cuMemAllocFromPoolAsync, @function\n"
        "cuMemAllocFromPoolAsync:\n"
        "	.cfi_startproc\n"
        "	endbr64\n"
        "	jmp stub_alloc_from_pool@PLT\n"
        "	.cfi_endproc\n"
        ".size cuMemAllocFromPoolAsync, . - cuMemAllocFromPoolAsync\n");

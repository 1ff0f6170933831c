/* Mappings over mappings, against an array of pages that says who was there last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/unwind/mapping_list.h"

#define PAGES  64
#define ROUNDS 20000

/* A generator of numbers: the same ones in each run. */
static uint32_t next_number(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

/* Of the byte at address 0, in the file of that inode. */
static uint64_t offset_of(uint64_t inode)
{
	return inode * 1000;
}

static struct mapping mapping_of(uint64_t start, uint64_t end, uint64_t inode)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/file/%u", (unsigned)inode);
	return (struct mapping){ .start = start,
		                 .end = end,
		                 .offset = offset_of(inode) + start,
		                 .inode = inode,
		                 .path = mem_strdup(path) };
}

static void compare(const struct mapping_list *list, const uint64_t *pages)
{
	mapping_list_check(list);
	for (uint64_t page = 0; page < PAGES; page++) {
		const size_t place = mapping_list_place(list, page);
		const struct mapping *mapping = &list->items[place];

		if (place == list->count || mapping->start > page) {
			assert_int_equal(pages[page], 0);
			continue;
		}
		assert_int_equal(mapping->inode, pages[page]);
		/* what is cut keeps the place of its bytes in the file */
		assert_int_equal(mapping->offset + (page - mapping->start),
		                 offset_of(mapping->inode) + page);
	}
}

static void the_last_one_is_there(void **state)
{
	struct mapping_list list = { 0 };
	uint64_t pages[PAGES] = { 0 };
	uint64_t random = 1;

	(void)state;
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		const uint64_t start = next_number(&random) % PAGES;
		const uint64_t longest = i % 10 == 0 ? PAGES : 8;
		uint64_t end = start + 1 + next_number(&random) % longest;
		struct mapping mapping;

		end = end < PAGES ? end : PAGES;
		mapping = mapping_of(start, end, i);
		mapping_list_insert(&list, &mapping);
		for (uint64_t page = start; page < end; page++)
			pages[page] = i;
		compare(&list, pages);
	}
	mapping_list_fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_one_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

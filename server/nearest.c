#include "server/nearest.h"

#include <stdint.h>

void nearest_init(struct nearest *nearest, struct str wanted)
{
	*nearest = (struct nearest){ .wanted = wanted, .distance = wanted.length / 3 + 1 };
}

static char folded(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c + ('a' - 'A'));
	if (c == '_' || c == '.')
		return '-';
	return c;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t nearest_distance(struct str a, struct str b)
{
	/* three rows of the usual table: this one, the last and the one before */
	size_t rows[3][NEAREST_NAME_MAX + 1];

	if (a.length > NEAREST_NAME_MAX || b.length > NEAREST_NAME_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b.length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.length; i++) {
		size_t *row = rows[i % 3];
		const size_t *last = rows[(i + 2) % 3];
		const size_t *before = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b.length; j++) {
			const char x = folded(a.data[i - 1]);
			const char y = folded(b.data[j - 1]);

			row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == folded(b.data[j - 2]) &&
			    y == folded(a.data[i - 2]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[a.length % 3][b.length];
}

void nearest_add(struct nearest *nearest, const char *name)
{
	const size_t distance = nearest_distance(nearest->wanted, str_of(name));

	if (distance < nearest->distance) {
		nearest->distance = distance;
		nearest->name = name;
	}
}

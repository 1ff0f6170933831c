#include "collector/identity/user_account.h"

#include "base/cleanup.h"

enum field {
	FIELD_NAME,
	FIELD_PASSWORD,
	FIELD_UID,
	FIELD_GID,
	FIELD_COMMENT,
	FIELD_HOME,
	FIELD_SHELL,
	FIELD_COUNT,
};

static bool read_line(struct str line, struct str fields[static FIELD_COUNT])
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (!str_split(&line, ':', &fields[i]))
			return false;
	return fields[FIELD_NAME].length > 0;
}

bool user_account_find(struct str passwd, uint32_t uid, struct user_account *out)
{
	struct str fields[FIELD_COUNT];
	struct str line;
	uint64_t number;

	while (str_split(&passwd, '\n', &line)) {
		if (!read_line(line, fields) ||
		    !str_to_u64(fields[FIELD_UID], UINT32_MAX, &number) || number != uid)
			continue;
		*out = (struct user_account){ fields[FIELD_NAME], fields[FIELD_HOME] };
		return true;
	}
	return false;
}

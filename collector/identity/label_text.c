#include "collector/identity/label_text.h"

#include "base/utf8.h"

bool label_text_set(struct label_text *out, struct str text)
{
	size_t length = 0;

	text = str_trim(text);
	while (text.length > 0) {
		char character[4];
		uint32_t rune;
		const int taken = utf8_next(text, &rune);
		size_t bytes;

		if (rune < 0x20 || rune == 0x7f)
			rune = ' ';
		bytes = utf8_put(character, rune);
		if (length + bytes > LABEL_TEXT_BYTES)
			break;
		memcpy(out->text + length, character, bytes);
		length += bytes;
		text = str_skip(text, taken > 0 ? (size_t)taken : 1);
	}
	text = str_trim(str_make(out->text, length));
	memmove(out->text, text.data, text.length);
	out->text[text.length] = '\0';
	return text.length > 0;
}

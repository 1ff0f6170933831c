#include "formats/perf_script.h"

struct reader {
	struct arena *arena;
	struct strbuf *out;
	struct perf_script_counts counts;

	struct str first_event; /* of the file */
	struct str command;     /* of the open sample; NULL: none is open */
	struct str *frames;     /* names, the leaf first */
	size_t frame_count;
	size_t frame_capacity;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static size_t skip_digits(struct str text, size_t at)
{
	while (at < text.length && text.data[at] >= '0' && text.data[at] <= '9')
		at++;
	return at;
}

/* Whether a process stands at `at`: "4242 " or "4242/4250 ". */
static bool is_process(struct str line, size_t at)
{
	size_t end = skip_digits(line, at);

	if (end == at)
		return false;
	if (end < line.length && line.data[end] == '/')
		end = skip_digits(line, end + 1);
	return end < line.length && is_blank(line.data[end]);
}

/* The command, which may have blanks itself, ends before the first process. */
static struct str command_of(struct str line)
{
	for (size_t at = 1; at + 1 < line.length; at++)
		if (is_blank(line.data[at]) && is_process(line, at + 1))
			return str_trim(str_first(line, at));
	return (struct str){ 0 };
}

/* The word before the last ':' */
static struct str event_of(struct str line)
{
	struct str text = str_trim(line);
	ptrdiff_t blank;

	if (!str_ends_with(text, STR(":")))
		return (struct str){ 0 };
	text.length--;
	blank = str_last_index(text, ' ');
	return str_skip(text, (size_t)(blank + 1));
}

static void put_name(struct strbuf *out, struct str name)
{
	for (size_t i = 0; i < name.length; i++)
		strbuf_add(out, name.data[i] == ';' ? ":" : &name.data[i], 1);
}

static void end_sample(struct reader *reader)
{
	if (!reader->command.data)
		return;
	put_name(reader->out, reader->command);
	for (size_t i = reader->frame_count; i > 0; i--) {
		strbuf_add_byte(reader->out, ';');
		put_name(reader->out, reader->frames[i - 1]);
	}
	strbuf_add_text(reader->out, " 1\n");
	reader->counts.samples++;
	reader->command = (struct str){ 0 };
	reader->frame_count = 0;
}

static void begin_sample(struct reader *reader, struct str line)
{
	const struct str command = command_of(line);
	const struct str event = event_of(line);

	end_sample(reader);
	if (!command.data || event.length == 0)
		return;
	if (!reader->first_event.data)
		reader->first_event = event;
	if (str_equal(event, reader->first_event))
		reader->command = command;
	else
		reader->counts.other_samples++;
}

static struct str without_offset(struct str name)
{
	const ptrdiff_t plus = str_last_index(name, '+');

	return plus > 0 && str_starts_with(str_skip(name, (size_t)plus), STR("+0x"))
	               ? str_first(name, (size_t)plus)
	               : name;
}

/* "[file]" for a frame without a name. */
static struct str name_of_file(struct reader *reader, struct str file)
{
	const ptrdiff_t slash = str_last_index(file, '/');

	file = str_skip(file, (size_t)(slash + 1));
	if (str_starts_with(file, STR("[")))
		return file;
	return arena_printf(reader->arena, "[%.*s]", STR_ARGS(file));
}

/* Where the '(' of the file is, or -1. A file that is gone has a second pair. */
static ptrdiff_t file_of(struct str frame)
{
	const struct str gone = STR(" (deleted))");

	if (str_ends_with(frame, gone))
		frame.length -= gone.length;
	return str_last_index(frame, '(');
}

/* "    55d0c0f01234 name+0x12 (file)" */
static int add_frame(struct reader *reader, struct str line, struct error *err)
{
	const struct str text = str_trim(line);
	const ptrdiff_t address_end = str_index(text, ' ');
	ptrdiff_t file = file_of(text);
	struct str name;

	if (!reader->command.data || address_end < 0)
		return 0;
	if (file <= address_end)
		file = (ptrdiff_t)text.length;
	name = str_trim(
		str_first(str_skip(text, (size_t)address_end), (size_t)(file - address_end)));
	if (str_equals(name, "[unknown]") && (size_t)file + 2 <= text.length)
		name = name_of_file(reader, str_first(str_skip(text, (size_t)file + 1),
		                                      text.length - (size_t)file - 2));
	if (!name.data ||
	    !ARENA_GROW(reader->arena, reader->frames, reader->frame_count, reader->frame_capacity))
		return arena_error(reader->arena, err);
	reader->frames[reader->frame_count++] = without_offset(name);
	return 0;
}

int perf_script_fold(struct str text, struct arena *arena, struct strbuf *out,
                     struct perf_script_counts *out_counts, struct error *err)
{
	struct reader reader = { .arena = arena, .out = out };
	struct str line;

	while (text.length > 0 && str_split(&text, '\n', &line)) {
		if (str_starts_with(line, STR("#")))
			continue;
		if (str_trim(line).length == 0)
			end_sample(&reader);
		else if (!is_blank(line.data[0]))
			begin_sample(&reader, line);
		else if (add_frame(&reader, line, err) < 0)
			return -1;
	}
	end_sample(&reader);
	if (reader.counts.samples == 0)
		return error_set(err, ERROR_INVALID, "no event in the output of perf script");
	*out_counts = reader.counts;
	return 0;
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_layout.h"
#include "jfr_decoded.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define ONE_SAMPLE                                      \
	"process_cpu:cpu:nanoseconds:cpu:nanoseconds: " \
	"shop/Main.run;shop/Cart.add 10000000|\n"

static int decode(const struct strbuf *recording, struct strbuf *text, struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

	return jfr_decoded_run(arena, JFR_QUERY, strbuf_view(recording), text, err);
}

/* A recording of these types, with one sample and what `more` writes. */
static void write_with(const char *types, void (*more)(struct jfr_writer *),
                       struct strbuf *recording)
{
	struct jfr_writer writer;

	jfr_writer_init(&writer, types);
	more(&writer);
	jfr_decoded_constants(&writer);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 1, 1, 0, 0, 0);
	jfr_writer_chunk(&writer, recording);
	jfr_writer_fini(&writer);
}

static void assert_read(const char *types, void (*more)(struct jfr_writer *))
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	strbuf_init(&recording, JFR_WRITER_LIMIT);
	strbuf_init(&text, 100000);
	write_with(types, more, &recording);
	if (decode(&recording, &text, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(text.data, ONE_SAMPLE);
}

static void assert_refused(const char *types, void (*more)(struct jfr_writer *),
                           const char *message)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	strbuf_init(&recording, JFR_WRITER_LIMIT);
	strbuf_init(&text, 100000);
	write_with(types, more, &recording);
	assert_int_equal(decode(&recording, &text, &err), -1);
	if (!strstr(err.message, message))
		fail_msg("%s", err.message);
}

/* Constants of a class with everything there is. */
static void write_strange(struct jfr_writer *writer)
{
	struct strbuf *out = &writer->pools;

	jfr_writer_pool(writer, 60, 1);
	jfr_writer_long(writer, out, 1);
	strbuf_add(out, "\x01\x02", 2);                         /* byte, boolean */
	strbuf_add(out, "\x01\x02\x03\x04", 4);                 /* float */
	strbuf_add(out, "\x01\x02\x03\x04\x05\x06\x07\x08", 8); /* double */
	jfr_writer_long(writer, out, 300);                      /* short */
	jfr_writer_long(writer, out, 301);                      /* char */
	jfr_writer_text(writer, out, "text");
	strbuf_add(out, "\x00", 1);      /* point: a string that is null */
	jfr_writer_int(writer, out, -1); /* point: int */
	jfr_writer_int(writer, out, 2);  /* two keys */
	jfr_writer_long(writer, out, 1000);
	jfr_writer_long(writer, out, 1001);
	jfr_writer_int(writer, out, 2); /* two points */
	for (int i = 0; i < 2; i++) {
		jfr_writer_text(writer, out, "p");
		jfr_writer_int(writer, out, i);
	}
	jfr_writer_int(writer, out, 0);         /* no floats */
	jfr_writer_int(writer, out, INT32_MAX); /* so many values of nothing */
}

#define STRANGE_TYPES                                                                     \
	"60 Strange b:byte o:boolean f:float d:double s:short c:char t:java.lang.String " \
	"p:Point k:Point*[] l:Point[] e:float[] n:Nothing[]\n"                            \
	"61 Point name:java.lang.String x:int\n62 Nothing\n"

static void constants_nobody_asks_for_are_skipped_by_their_fields(void **state)
{
	(void)state;
	assert_read(JFR_WRITER_TYPES STRANGE_TYPES, write_strange);
}

/* Types of another writer: other fields, others again, another order, other numbers. */
#define OTHER_TYPES                                                                       \
	"4 boolean\n8 byte\n6 float\n7 double\n9 short\n5 char\n10 int\n11 long\n"        \
	"12 java.lang.String\n"                                                           \
	"2000 jdk.types.Symbol hash:int string:java.lang.String next:jdk.types.Symbol*\n" \
	"21 java.lang.Class extra:double name:jdk.types.Symbol*\n"                        \
	"24 jdk.types.Method name:jdk.types.Symbol* extra:java.lang.String "              \
	"type:java.lang.Class*\n"                                                         \
	"26 jdk.types.StackFrame inlined:boolean lineNumber:int at:Place "                \
	"method:jdk.types.Method*\n"                                                      \
	"70 Place column:int\n"                                                           \
	"27 jdk.types.StackTrace frames:jdk.types.StackFrame[] thread:long\n"             \
	"101 jdk.ExecutionSample stackTrace:jdk.types.StackTrace* cpu:float at:Place last:int\n"

static void fields_are_found_by_name_in_any_order(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	CLEANUP(strbuf_fini) struct strbuf text;
	struct jfr_writer writer;
	struct strbuf *out;
	struct error err = { 0 };
	size_t at;

	(void)state;
	jfr_writer_init(&writer, OTHER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	strbuf_init(&text, 1000);
	out = &writer.pools;
	jfr_writer_pool(&writer, 27, 1);
	jfr_writer_long(&writer, out, 9);
	jfr_writer_int(&writer, out, 1);
	strbuf_add(out, "\x01\x2a\x07\x05", 4); /* inlined, line 42, column 7, method 5 */
	jfr_writer_long(&writer, out, 3);
	jfr_writer_pool(&writer, 24, 1);
	strbuf_add(out, "\x05\x02\x00\x06", 4); /* method 5: symbol 2, null, class 6 */
	jfr_writer_pool(&writer, 21, 1);
	strbuf_add(out,
	           "\x06"
	           "12345678"
	           "\x01",
	           10); /* class 6: a double, symbol 1 */
	jfr_writer_pool(&writer, 2000, 2);
	strbuf_add(out,
	           "\x01\x7f\x03\x03"
	           "App"
	           "\x02",
	           8);
	strbuf_add(out,
	           "\x02\x7f\x03\x03"
	           "run"
	           "\x01",
	           8);
	at = jfr_writer_begin(&writer, 101);
	strbuf_add(&writer.records,
	           "\x09"
	           "1234"
	           "\x05\x06",
	           7);
	jfr_writer_end(&writer, at);
	jfr_writer_chunk(&writer, &recording);
	if (decode(&recording, &text, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(text.data, "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	                               "App.run 10000000|\n");
	jfr_writer_fini(&writer);
}

static void write_loop(struct jfr_writer *writer)
{
	jfr_writer_pool(writer, 60, 0);
}

static void classes_that_stand_in_each_other_are_refused(void **state)
{
	(void)state;
	assert_refused(JFR_WRITER_TYPES "60 A b:B\n61 B a:A\n", write_loop,
	               "types stand in each other");
	/* 4096 ways through six classes: nothing is read, much would be looked at */
	assert_refused(JFR_WRITER_TYPES "60 A a:B b:B c:B d:B e:B f:B g:B h:B\n"
	                                "61 B a:C b:C c:C d:C e:C f:C g:C h:C\n"
	                                "62 C a:D b:D c:D d:D e:D f:D g:D h:D\n"
	                                "63 D a:E b:E c:E d:E e:E f:E g:E h:E\n"
	                                "64 E a:F b:F c:F d:F e:F f:F g:F h:F\n"
	                                "65 F a:G b:G c:G d:G e:G f:G g:G h:G\n66 G\n",
	               write_loop, "without end");
	assert_refused(JFR_WRITER_TYPES "60 A a:Unknown\n", write_loop,
	               "the field a of A has the class 99999");
}

static void arrays_may_lead_back_to_their_class(void **state)
{
	(void)state;
	assert_read(JFR_WRITER_TYPES "60 A next:A[] key:A*\n", write_loop);
}

static void write_deep(struct jfr_writer *writer)
{
	jfr_writer_pool(writer, 60, 1);
	jfr_writer_long(writer, &writer->pools, 1);
	for (int i = 0; i < 20; i++)
		jfr_writer_int(writer, &writer->pools, 1);
	jfr_writer_int(writer, &writer->pools, 0);
}

static void arrays_in_arrays_have_a_bottom(void **state)
{
	(void)state;
	assert_refused(JFR_WRITER_TYPES "60 A next:A[]\n", write_deep, "cut or broken");
}

/* Frames without fields take no bytes: their count means nothing. */
static void frames_of_nothing_are_none(void **state)
{
	static const char types[] = "4 boolean\n10 int\n11 long\n12 java.lang.String\n"
				    "26 jdk.types.StackFrame\n"
				    "27 jdk.types.StackTrace frames:jdk.types.StackFrame[]\n"
				    "101 jdk.ExecutionSample "
				    "stackTrace:jdk.types.StackTrace*\n";
	CLEANUP(strbuf_fini) struct strbuf recording;
	CLEANUP(strbuf_fini) struct strbuf text;
	struct jfr_writer writer;
	struct error err = { 0 };

	(void)state;
	jfr_writer_init(&writer, types);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	strbuf_init(&text, 1000);
	jfr_writer_pool(&writer, 27, 1);
	jfr_writer_long(&writer, &writer.pools, 1);
	jfr_writer_int(&writer, &writer.pools, INT32_MAX);
	JFR_WRITER_EVENT(&writer, 101, 1);
	jfr_writer_chunk(&writer, &recording);
	if (decode(&recording, &text, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(text.data, "process_cpu:cpu:nanoseconds:cpu:nanoseconds:  10000000|\n");
	jfr_writer_fini(&writer);
}

static void numbers_may_be_of_fixed_width(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	strbuf_init(&text, 1000);
	jfr_decoded_one(&recording, true);
	if (decode(&recording, &text, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(text.data, ONE_SAMPLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants_nobody_asks_for_are_skipped_by_their_fields),
		cmocka_unit_test(fields_are_found_by_name_in_any_order),
		cmocka_unit_test(classes_that_stand_in_each_other_are_refused),
		cmocka_unit_test(arrays_may_lead_back_to_their_class),
		cmocka_unit_test(arrays_in_arrays_have_a_bottom),
		cmocka_unit_test(frames_of_nothing_are_none),
		cmocka_unit_test(numbers_may_be_of_fixed_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

# What every target of ours compiles with; dependencies do not see it. Programs of the tests that stand for others' take the plain
# options: they are watched as they would be anywhere, with no thread or allocator of a sanitizer's.
add_library(vramscope_plain_options INTERFACE)
add_library(vramscope_options INTERFACE)

target_compile_definitions(vramscope_plain_options INTERFACE _GNU_SOURCE)
target_include_directories(vramscope_plain_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(vramscope_plain_options INTERFACE
	-Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wcast-qual -Wpointer-arith
	$<$<COMPILE_LANGUAGE:C>:-Wwrite-strings -Wstrict-prototypes -Wmissing-prototypes -Wconversion -Wno-sign-conversion>
	-fno-omit-frame-pointer # our own stacks must unwind in our own profiles
	-fstack-protector-strong
	$<$<BOOL:${VRAMSCOPE_WERROR}>:-Werror>)

target_link_libraries(vramscope_options INTERFACE vramscope_plain_options)
if(VRAMSCOPE_SANITIZE)
	target_compile_options(vramscope_options INTERFACE
		-fsanitize=${VRAMSCOPE_SANITIZE} -fno-sanitize-recover=all)
	target_link_options(vramscope_options INTERFACE -fsanitize=${VRAMSCOPE_SANITIZE})
endif()
if(VRAMSCOPE_FUZZ)
	target_compile_options(vramscope_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

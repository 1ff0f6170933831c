# What every target of ours compiles with; dependencies do not see it.
add_library(vramscope_options INTERFACE)

target_compile_definitions(vramscope_options INTERFACE _GNU_SOURCE)
target_include_directories(vramscope_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(vramscope_options INTERFACE
	-Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wcast-qual -Wpointer-arith
	$<$<COMPILE_LANGUAGE:C>:-Wwrite-strings -Wstrict-prototypes -Wmissing-prototypes -Wconversion -Wno-sign-conversion>
	-fno-omit-frame-pointer # our own stacks must unwind in our own profiles
	-fstack-protector-strong
	$<$<BOOL:${VRAMSCOPE_WERROR}>:-Werror>)

if(VRAMSCOPE_SANITIZE)
	target_compile_options(vramscope_options INTERFACE
		-fsanitize=${VRAMSCOPE_SANITIZE} -fno-sanitize-recover=all)
	target_link_options(vramscope_options INTERFACE -fsanitize=${VRAMSCOPE_SANITIZE})
endif()
if(VRAMSCOPE_FUZZ)
	target_compile_options(vramscope_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# add_bpf_skeleton(noun): noun.bpf.c of the calling folder, compiled for the BPF machine, and its skeleton noun.skel.h, with the
# prefix noun_bpf. The target noun_skel has its include folder. Instructions of level 3 (32-bit arithmetic, atomics that return) take
# Linux 5.12, and attach cookies take 5.15 anyway.
find_program(BPF_CLANG NAMES clang clang-14 REQUIRED)
find_program(BPFTOOL bpftool HINTS /usr/sbin /sbin REQUIRED)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET libbpf>=1.0)

function(add_bpf_skeleton noun)
	set(source ${CMAKE_CURRENT_SOURCE_DIR}/${noun}.bpf.c)
	set(stem ${CMAKE_CURRENT_BINARY_DIR}/${noun})
	add_custom_command(
		OUTPUT ${stem}.bpf.o
		COMMAND ${BPF_CLANG} -g -O2 -target bpf -mcpu=v3 -std=gnu17 -Wall -Wextra -Wno-unused-parameter
			$<$<BOOL:${VRAMSCOPE_WERROR}>:-Werror>
			-I ${PROJECT_SOURCE_DIR} -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
			-MD -MF ${stem}.bpf.d -MT ${stem}.bpf.o -c ${source} -o ${stem}.bpf.o
		DEPENDS ${source}
		DEPFILE ${stem}.bpf.d
		VERBATIM)
	add_custom_command(
		OUTPUT ${stem}.skel.h
		COMMAND ${CMAKE_COMMAND} -E echo "/* NOLINTBEGIN: generated */" > ${stem}.skel.h
		COMMAND ${BPFTOOL} gen skeleton ${stem}.bpf.o name ${noun}_bpf >> ${stem}.skel.h
		COMMAND ${CMAKE_COMMAND} -E echo "/* NOLINTEND */" >> ${stem}.skel.h
		DEPENDS ${stem}.bpf.o
		VERBATIM)
	add_custom_target(${noun}_skel_made DEPENDS ${stem}.skel.h)
	add_library(${noun}_skel INTERFACE)
	add_dependencies(${noun}_skel ${noun}_skel_made)
	target_include_directories(${noun}_skel SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
	target_link_libraries(${noun}_skel INTERFACE PkgConfig::LIBBPF)
endfunction()

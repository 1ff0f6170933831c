# add_protobuf_c(target names...): C for name.proto of the calling folder, made by protoc-c in the
# build tree and included as "<folder>/name.pb-c.h". Generated code is not held to our warnings.
find_program(PROTOC_C protoc-c REQUIRED)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)

function(add_protobuf_c target)
	set(sources)
	foreach(name ${ARGN})
		set(stem ${CMAKE_CURRENT_BINARY_DIR}/${name}.pb-c)
		list(TRANSFORM ARGN REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1.proto" OUTPUT_VARIABLE protos)
		add_custom_command(
			OUTPUT ${stem}.c ${stem}.h
			COMMAND ${PROTOC_C} --c_out=${CMAKE_CURRENT_BINARY_DIR}
				-I ${CMAKE_CURRENT_SOURCE_DIR} ${name}.proto
			DEPENDS ${protos}
			VERBATIM)
		list(APPEND sources ${stem}.c)
	endforeach()
	add_library(${target} STATIC ${sources})
	target_compile_options(${target} PRIVATE -w)
	target_include_directories(${target} SYSTEM INTERFACE ${PROJECT_BINARY_DIR})
	target_link_libraries(${target} PUBLIC PkgConfig::PROTOBUF_C)
	if(VRAMSCOPE_SANITIZE)
		target_compile_options(${target} PRIVATE -fsanitize=${VRAMSCOPE_SANITIZE})
	endif()
endfunction()

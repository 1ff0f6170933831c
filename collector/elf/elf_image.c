#include "collector/elf/elf_image.h"

#include <elf.h>
#include <string.h>

#include "collector/elf/architecture.h"

#define PROGRAM_HEADERS_MAX 512
#define NOTES_BYTES_MAX     4096 /* of one section or segment of notes */

static int read_header(const struct code_bytes *bytes, Elf64_Ehdr *header, struct error *err)
{
	if (!code_bytes_get(bytes, 0, header, sizeof(*header)) ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, ERROR_INVALID, "not an ELF file");
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != ARCHITECTURE_ELF_MACHINE)
		return error_set(err, ERROR_INVALID, "not an ELF file of " ARCHITECTURE_NAME);
	if (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr))
		return error_set(err, ERROR_INVALID, "program headers of %u bytes",
		                 header->e_phentsize);
	return 0;
}

static void add_segment(struct elf_image *image, const Elf64_Phdr *header)
{
	uint64_t size = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz;

	if (image->segment_count == ELF_SEGMENTS_MAX || header->p_offset >= image->bytes->size)
		return;
	if (size > image->bytes->size - header->p_offset)
		size = image->bytes->size - header->p_offset;
	if (header->p_vaddr + size < size)
		return;
	if (image->segment_count == 0 || header->p_vaddr < image->base)
		image->base = header->p_vaddr;
	image->segments[image->segment_count++] = (struct elf_segment){
		.offset = header->p_offset,
		.address = header->p_vaddr,
		.file_size = size,
		.flags = header->p_flags,
	};
}

static void read_build_id(struct elf_image *image, uint64_t offset, uint64_t size)
{
	uint8_t notes[NOTES_BYTES_MAX];
	const size_t length = code_bytes_read(image->bytes, offset, notes,
	                                      size < sizeof(notes) ? size : sizeof(notes));
	Elf64_Nhdr note;

	for (size_t at = 0; image->build_id_length == 0 && length - at >= sizeof(note);) {
		size_t name;
		size_t value;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		if (note.n_namesz > length || note.n_descsz > length)
			return;
		value = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
		at = value + (((size_t)note.n_descsz + 3) & ~(size_t)3);
		if (value + note.n_descsz > length)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz > 0 &&
		    note.n_descsz <= ELF_BUILD_ID_MAX && memcmp(notes + name, "GNU", 4) == 0) {
			memcpy(image->build_id, notes + value, note.n_descsz);
			image->build_id_length = note.n_descsz;
			image->notes = (struct elf_section){ .offset = offset, .size = length };
		}
		if (at > length)
			return;
	}
}

static void read_segments(struct elf_image *image, const Elf64_Ehdr *file)
{
	const uint32_t count = file->e_phnum < PROGRAM_HEADERS_MAX ? file->e_phnum
	                                                           : PROGRAM_HEADERS_MAX;
	Elf64_Phdr header;

	for (uint32_t i = 0; i < count; i++) {
		if (!code_bytes_get(image->bytes, file->e_phoff + i * sizeof(header), &header,
		                    sizeof(header)))
			return;
		if (header.p_type == PT_LOAD)
			add_segment(image, &header);
		else if (header.p_type == PT_NOTE)
			read_build_id(image, header.p_offset, header.p_filesz);
		else if (header.p_type == PT_GNU_EH_FRAME)
			image->eh_frame_header = (struct elf_section){
				.address = header.p_vaddr,
				.offset = header.p_offset,
				.size = header.p_filesz,
				.type = SHT_PROGBITS,
			};
	}
}

static bool read_section(const struct elf_image *image, uint32_t number, Elf64_Shdr *out)
{
	return number < image->section_count &&
	       code_bytes_get(image->bytes, image->section_offset + number * sizeof(*out), out,
	                      sizeof(*out));
}

static bool section_of(const struct elf_image *image, const Elf64_Shdr *header,
                       struct elf_section *out)
{
	if (header->sh_type == SHT_NOBITS || header->sh_type == SHT_NULL ||
	    header->sh_offset > image->bytes->size ||
	    header->sh_size > image->bytes->size - header->sh_offset ||
	    (header->sh_flags & SHF_COMPRESSED))
		return false;
	*out = (struct elf_section){
		.address = header->sh_addr,
		.offset = header->sh_offset,
		.size = header->sh_size,
		.type = header->sh_type,
		.link = header->sh_link,
	};
	return true;
}

bool elf_image_section_at(const struct elf_image *image, uint32_t number, struct elf_section *out)
{
	Elf64_Shdr header;

	return read_section(image, number, &header) && section_of(image, &header, out);
}

static struct str section_name(const struct elf_image *image, const Elf64_Shdr *header, char *to)
{
	const struct elf_section *names = &image->section_names;

	return code_bytes_text(image->bytes, names->offset + header->sh_name,
	                       names->offset + names->size, to, ELF_SECTION_NAME);
}

bool elf_image_section(const struct elf_image *image, const char *name, struct elf_section *out)
{
	char text[ELF_SECTION_NAME];
	Elf64_Shdr header;

	for (uint32_t i = 1; i < image->section_count; i++) {
		if (!read_section(image, i, &header))
			return false;
		if (str_equals(section_name(image, &header, text), name))
			return section_of(image, &header, out);
	}
	return false;
}

static void read_symbols(const struct elf_image *image, const struct elf_section *table,
                         struct elf_symbols *out)
{
	struct elf_section names;

	if (elf_image_section_at(image, table->link, &names) && names.type == SHT_STRTAB)
		*out = (struct elf_symbols){ .table = *table, .names = names };
}

/* Keeps what we need of a section. */
static void keep_section(struct elf_image *image, struct str name,
                         const struct elf_section *section)
{
	if (section->type == SHT_SYMTAB)
		read_symbols(image, section, &image->symtab);
	else if (section->type == SHT_DYNSYM)
		read_symbols(image, section, &image->dynsym);
	else if (section->type == SHT_GNU_HASH)
		image->gnu_hash = *section;
	else if (section->type == SHT_NOTE)
		read_build_id(image, section->offset, section->size);
	else if (str_equals(name, ".eh_frame"))
		image->eh_frame = *section;
	else if (str_equals(name, ".eh_frame_hdr"))
		image->eh_frame_header = *section;
	else if (str_equals(name, ".gnu_debugdata"))
		image->debug_data = *section;
	else if (str_equals(name, ".gnu_debuglink"))
		image->debug_link = *section;
}

static void read_sections(struct elf_image *image, const Elf64_Ehdr *file)
{
	uint32_t names = file->e_shstrndx;
	char text[ELF_SECTION_NAME];
	Elf64_Shdr header;

	if (file->e_shoff == 0 || file->e_shentsize != sizeof(header))
		return;
	image->section_offset = file->e_shoff;
	image->section_count = 1; /* number 0 says what did not fit into the file's header */
	if (!read_section(image, 0, &header)) {
		image->section_count = 0;
		return;
	}
	if (names == SHN_XINDEX)
		names = header.sh_link;
	image->section_count = file->e_shnum ? file->e_shnum : (uint32_t)header.sh_size;
	if (image->section_count > ELF_SECTIONS_MAX)
		image->section_count = ELF_SECTIONS_MAX;
	if (!elf_image_section_at(image, names, &image->section_names))
		return;
	for (uint32_t i = 1; i < image->section_count && read_section(image, i, &header); i++) {
		struct elf_section section;

		if (section_of(image, &header, &section))
			keep_section(image, section_name(image, &header, text), &section);
	}
}

int elf_image_init(struct elf_image *image, const struct code_bytes *bytes, struct error *err)
{
	Elf64_Ehdr header;

	if (read_header(bytes, &header, err) < 0)
		return -1;
	*image = (struct elf_image){ .bytes = bytes };
	read_segments(image, &header);
	read_sections(image, &header);
	return 0;
}

bool elf_image_offset(const struct elf_image *image, uint64_t address, uint64_t *out_offset)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (address >= segment->address &&
		    address - segment->address < segment->file_size) {
			*out_offset = segment->offset + (address - segment->address);
			return true;
		}
	}
	return false;
}

/* The segment of an offset, with the page that its first byte lies in. */
static const struct elf_segment *segment_at(const struct elf_image *image, uint64_t offset)
{
	const struct elf_segment *found = NULL;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (offset < (segment->offset & ~(PAGE_BYTES - 1)) ||
		    offset >= segment->offset + segment->file_size)
			continue;
		if (segment->flags & PF_X)
			return segment;
		if (!found)
			found = segment;
	}
	return found;
}

bool elf_image_address(const struct elf_image *image, uint64_t offset, uint64_t *out_address)
{
	const struct elf_segment *segment = segment_at(image, offset);

	if (!segment)
		return false;
	*out_address = segment->address + (offset - segment->offset);
	return true;
}

bool elf_image_bias(const struct elf_image *image, uint64_t start, uint64_t offset,
                    uint64_t *out_bias)
{
	uint64_t address;

	if (!elf_image_address(image, offset, &address))
		return false;
	*out_bias = start - address;
	return true;
}

size_t elf_image_read(const struct elf_image *image, uint64_t address, void *to, size_t length)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		const uint64_t skip = address - segment->address;

		if (address < segment->address || skip >= segment->file_size)
			continue;
		if (length > segment->file_size - skip)
			length = (size_t)(segment->file_size - skip);
		return code_bytes_read(image->bytes, segment->offset + skip, to, length);
	}
	return 0;
}

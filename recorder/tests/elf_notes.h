// elf_notes.h: a library whose notes are not in memory. The loader does not look at
// notes, so that a recorder may not take them to be there.

#ifndef LOGREC_TESTS_ELF_NOTES_H
#define LOGREC_TESTS_ELF_NOTES_H

#include <link.h>
#include <string.h>

#include <string>

// withoutNotes returns the bytes of an image of this program's kind, with its notes
// where no segment is loaded.
inline std::string withoutNotes(std::string image) {
  ElfW(Ehdr) e;
  memcpy(&e, image.data(), sizeof e);
  for (int i = 0; i < e.e_phnum; i++) {
    const size_t at = size_t(e.e_phoff) + size_t(i) * sizeof(ElfW(Phdr));
    ElfW(Phdr) h;
    memcpy(&h, image.data() + at, sizeof h);
    if (h.p_type == PT_NOTE) h.p_vaddr = 0x40000000;
    image.replace(at, sizeof h, reinterpret_cast<const char *>(&h), sizeof h);
  }
  return image;
}

#endif

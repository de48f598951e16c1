// A file that becomes a part of the program when it is built. In a .cc file, outside of namespaces:
//
//   QUERN_EMBED_FILE(quern_words, QUERN_WORDS)      // a name of its own in the program; a string literal with the path
//   … std::string_view bytes = QUERN_EMBEDDED(quern_words);
//
// The build must name the file as a dependency of the object (OBJECT_DEPENDS).
#pragma once
#include <string_view>

#define QUERN_EMBED_FILE(name, path)                        \
  asm(".pushsection .rodata\n"                              \
      ".balign 64\n"                                        \
      ".globl " #name "_begin\n.hidden " #name              \
      "_begin\n"                                            \
      ".globl " #name "_end\n.hidden " #name "_end\n" #name \
      "_begin:\n"                                           \
      ".incbin \"" path "\"\n" #name                        \
      "_end:\n"                                             \
      ".byte 0\n"                                           \
      ".popsection\n");                                     \
  extern "C" {                                              \
  extern const char name##_begin[];                         \
  extern const char name##_end[];                           \
  }

#define QUERN_EMBEDDED(name) (std::string_view(name##_begin, static_cast<size_t>(name##_end - name##_begin)))

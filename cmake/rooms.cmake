# The rooms of quern/rooms.txt: one list for the build, the hygiene tests and docs/architecture.md.
option(QUERN_LAB "build the research studies of lab/ into the binary (quern research, study, bench tree-attention)" ON)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/quern/rooms.txt)

# quern_read_rooms(OUT): the names, in order.
function(quern_read_rooms OUT)
  file(STRINGS ${CMAKE_SOURCE_DIR}/quern/rooms.txt lines REGEX "^[a-z]")
  list(TRANSFORM lines REPLACE " .*" "")
  set(${OUT} ${lines} PARENT_SCOPE)
endfunction()

# quern_room_folder(OUT ROOM): where a room lies; the lab lies beside quern/.
function(quern_room_folder OUT ROOM)
  if(ROOM MATCHES "^lab(/|$)")
    set(${OUT} ${CMAKE_SOURCE_DIR}/${ROOM} PARENT_SCOPE)
  else()
    set(${OUT} ${CMAKE_SOURCE_DIR}/quern/${ROOM} PARENT_SCOPE)
  endif()
endfunction()

# quern_add_room(ROOM): a room, or every plug-in of KIND/*.
function(quern_add_room ROOM)
  if(ROOM MATCHES "^lab/" AND NOT QUERN_LAB)
    return()
  endif()
  if(ROOM MATCHES "^(.*)/\\*$")
    quern_add_rooms(${CMAKE_MATCH_1})
  else()
    quern_room_folder(folder ${ROOM})
    add_subdirectory(${folder} ${CMAKE_BINARY_DIR}/rooms/${ROOM})
  endif()
endfunction()

# quern_name_groups(ROOMS): quern_corpus stands for corpus/io … corpus/stages, for rooms that use several of them.
function(quern_name_groups ROOMS)
  foreach(room ${ROOMS})
    if(NOT room MATCHES "^[a-z]+/[a-z]")
      continue()
    endif()
    string(REPLACE "/" ";" parts ${room})
    list(GET parts 0 group)
    if(group IN_LIST ROOMS)  # mixers: a room with files of its own
      continue()
    endif()
    if(NOT TARGET quern_${group})
      add_library(quern_${group} INTERFACE)
    endif()
    list(GET parts 1 inner)
    target_link_libraries(quern_${group} INTERFACE quern_${group}_${inner})
  endforeach()
endfunction()

# Joins web/index.html with the styles and scripts of web/page to the one file that the server carries, without the indentation.
#   cmake -DWEB=web -DOUT=page.html -P cmake/join_page.cmake
set(QUERN_PAGE_STYLES base layout talk)
set(QUERN_PAGE_SCRIPTS dom server store inline markdown highlight tex math rounds turns reply tools models composer chats
                       transfer gbnf format server_view knowledge runs keys begin)

# Sets ${out} to the page and ${out}_FILES to what it was made of.
function(quern_join_page web out)
  set(files ${web}/index.html)
  file(READ ${web}/index.html page)
  foreach(kind styles:css:STYLES scripts:js:SCRIPTS)
    string(REGEX MATCH "^([a-z]+):([a-z]+):([A-Z]+)$" all ${kind})
    set(place "@page-${CMAKE_MATCH_1}@")
    set(end ${CMAKE_MATCH_2})
    set(joined "")
    foreach(name ${QUERN_PAGE_${CMAKE_MATCH_3}})
      file(READ ${web}/page/${name}.${end} text)
      string(APPEND joined "${text}")
      list(APPEND files ${web}/page/${name}.${end})
    endforeach()
    string(STRIP "${joined}" joined)
    string(REPLACE "${place}" "${joined}" page "${page}")
  endforeach()
  string(REGEX REPLACE "\n +" "\n" page "${page}")
  set(${out} "${page}" PARENT_SCOPE)
  set(${out}_FILES ${files} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND OUT)
  quern_join_page(${WEB} QUERN_PAGE)
  file(WRITE ${OUT} "${QUERN_PAGE}")
endif()

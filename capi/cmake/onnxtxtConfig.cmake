# find_package(onnxtxt): the targets onnxtxt::onnxtxt (dynamic) and onnxtxt::static.
get_filename_component(_onnxtxt_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

find_package(Threads REQUIRED)

if(NOT TARGET onnxtxt::onnxtxt)
  add_library(onnxtxt::onnxtxt SHARED IMPORTED)
  set_target_properties(onnxtxt::onnxtxt PROPERTIES
    IMPORTED_LOCATION "${_onnxtxt_prefix}/lib/${CMAKE_SHARED_LIBRARY_PREFIX}onnxtxt_c${CMAKE_SHARED_LIBRARY_SUFFIX}"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_onnxtxt_prefix}/include")
  if(WIN32)
    set_target_properties(onnxtxt::onnxtxt PROPERTIES IMPORTED_IMPLIB "${_onnxtxt_prefix}/lib/onnxtxt_c.dll.lib")
  endif()

  add_library(onnxtxt::static STATIC IMPORTED)
  set_target_properties(onnxtxt::static PROPERTIES
    IMPORTED_LOCATION "${_onnxtxt_prefix}/lib/${CMAKE_STATIC_LIBRARY_PREFIX}onnxtxt_c${CMAKE_STATIC_LIBRARY_SUFFIX}"
    INTERFACE_INCLUDE_DIRECTORIES "${_onnxtxt_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
  if(UNIX)
    set_property(TARGET onnxtxt::static APPEND PROPERTY INTERFACE_LINK_LIBRARIES m)
  endif()
endif()
set(onnxtxt_FOUND TRUE)

# Helpers every room's CMakeLists uses.

# Results must not depend on the compiler's mood: no contraction of a*b+c (kernels ask for fma where they want it).
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -Werror=return-type -ffp-contract=off -fno-math-errno)
add_link_options($<$<CONFIG:Release>:-Wl,--gc-sections>)

set(DEEPINFER_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")
if(DEEPINFER_SANITIZE)
  add_compile_options(-fsanitize=${DEEPINFER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DEEPINFER_SANITIZE})
endif()

# Fuzzing (clang): every room is instrumented, and only what a fuzz target needs is built.
if(DEEPINFER_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# deepinfer_room(NAME SOURCES a.cpp b.cpp DEPS other rooms and libraries): one static library a folder.
function(deepinfer_room name)
  cmake_parse_arguments(R "" "" "SOURCES;DEPS" ${ARGN})
  if(R_SOURCES)
    add_library(deepinfer_${name} STATIC ${R_SOURCES})
    target_include_directories(deepinfer_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(deepinfer_${name} PUBLIC ${R_DEPS})
    set_target_properties(deepinfer_${name} PROPERTIES EXCLUDE_FROM_ALL ${DEEPINFER_FUZZ})
  else()
    add_library(deepinfer_${name} INTERFACE)
    target_include_directories(deepinfer_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(deepinfer_${name} INTERFACE ${R_DEPS})
  endif()
endfunction()

# deepinfer_test(NAME SOURCES ... DEPS ...): one GoogleTest binary, one ctest entry.
function(deepinfer_test name)
  cmake_parse_arguments(T "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_DEPS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE DEEPINFER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
endfunction()

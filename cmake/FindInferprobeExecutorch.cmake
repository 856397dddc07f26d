# Finds the native SDK inside the executorch wheel, for the ExecuTorch engine plugin.
#
#   find_package(InferprobeExecutorch)
#
# Looks in EXECUTORCH_ROOT (the folder of the `executorch` package); where that is empty, in the
# source tree's .venv and in the packages of the python3 on PATH. Sets
#   InferprobeExecutorch_FOUND
#   InferprobeExecutorch_ROOT      the package's folder
#   InferprobeExecutorch_REASON    why it is not found, for one STATUS message
# and defines the wheel's own targets: executorch::runtime and its components.

set(InferprobeExecutorch_REASON "")
set(_inferprobe_et_places "${EXECUTORCH_ROOT}")
if(NOT EXECUTORCH_ROOT)
  file(GLOB _inferprobe_et_places
       "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/executorch")
  find_program(_inferprobe_et_python python3 NO_CACHE)
  if(_inferprobe_et_python)
    execute_process(
      COMMAND ${_inferprobe_et_python} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
      OUTPUT_VARIABLE _inferprobe_et_purelib OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(_inferprobe_et_purelib)
      list(APPEND _inferprobe_et_places "${_inferprobe_et_purelib}/executorch")
    endif()
  endif()
endif()

set(InferprobeExecutorch_ROOT "")
foreach(_inferprobe_et_place IN LISTS _inferprobe_et_places)
  if(EXISTS "${_inferprobe_et_place}/share/cmake/executorch-config.cmake")
    set(InferprobeExecutorch_ROOT "${_inferprobe_et_place}")
    break()
  endif()
endforeach()

if(NOT InferprobeExecutorch_ROOT)
  set(InferprobeExecutorch_REASON
      "no executorch package with share/cmake found (pip install --no-deps executorch==1.5.1, or set EXECUTORCH_ROOT)")
elseif(CMAKE_VERSION VERSION_LESS 3.28)
  # The wheel's package defines no target for an older CMake.
  set(InferprobeExecutorch_REASON "CMake ${CMAKE_VERSION} is older than 3.28 (pip install cmake)")
else()
  find_package(executorch 1.5 QUIET CONFIG
               PATHS "${InferprobeExecutorch_ROOT}/share/cmake" NO_DEFAULT_PATH)
  # What a build of ExecuTorch without its tracer would have: no helper does anything.
  if(NOT INFERPROBE_EVENT_TRACER)
    get_property(_inferprobe_et_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
    foreach(_inferprobe_et_target IN LISTS _inferprobe_et_targets)
      get_target_property(_inferprobe_et_definitions ${_inferprobe_et_target}
                          INTERFACE_COMPILE_DEFINITIONS)
      if(_inferprobe_et_definitions)
        list(REMOVE_ITEM _inferprobe_et_definitions ET_EVENT_TRACER_ENABLED)
        set_target_properties(${_inferprobe_et_target} PROPERTIES
          INTERFACE_COMPILE_DEFINITIONS "${_inferprobe_et_definitions}")
      endif()
    endforeach()
  endif()
  foreach(_inferprobe_et_part runtime kernels_optimized kernels_quantized backend_xnnpack
                              threadpool etdump)
    if(NOT TARGET executorch::${_inferprobe_et_part})
      string(APPEND InferprobeExecutorch_REASON
             "${InferprobeExecutorch_ROOT} has no ${_inferprobe_et_part}. ")
    endif()
  endforeach()
endif()

if(InferprobeExecutorch_REASON)
  set(InferprobeExecutorch_FOUND FALSE)
else()
  set(InferprobeExecutorch_FOUND TRUE)
endif()

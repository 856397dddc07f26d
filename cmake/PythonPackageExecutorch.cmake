# For `pip install .`: sets EXECUTORCH_ROOT to an executorch wheel to build the plugin against.
#
# In order: what was given (-DEXECUTORCH_ROOT or the environment's), the executorch of the Python
# environment that is installed into, and else the wheel, downloaded into the build folder without
# its dependencies. Where that fails, the package is built without the plugin and says so.
if(EXECUTORCH_ROOT)
  return()
endif()
if(DEFINED ENV{EXECUTORCH_ROOT})
  set(EXECUTORCH_ROOT "$ENV{EXECUTORCH_ROOT}" CACHE PATH "" FORCE)
  return()
endif()

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
# Under build isolation the search path is another's, but not where this Python installs to.
execute_process(
  COMMAND ${Python_EXECUTABLE} -c "import sysconfig; print(sysconfig.get_path('purelib'))"
  OUTPUT_VARIABLE purelib OUTPUT_STRIP_TRAILING_WHITESPACE)
set(downloaded "${CMAKE_BINARY_DIR}/executorch-wheel")
foreach(folder "${purelib}" "${downloaded}")
  if(EXISTS "${folder}/executorch/share/cmake/executorch-config.cmake")
    set(EXECUTORCH_ROOT "${folder}/executorch" CACHE PATH "" FORCE)
    return()
  endif()
endforeach()

message(STATUS "inferprobe: fetching executorch 1.5.1 to build its plugin")
execute_process(
  COMMAND ${Python_EXECUTABLE} -m pip install -q --disable-pip-version-check --no-deps
          --target "${downloaded}" executorch==1.5.1
  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(failed)
  message(WARNING "executorch 1.5.1 cannot be fetched; building without its plugin. Give "
                  "EXECUTORCH_ROOT, or pip install --no-deps executorch==1.5.1 first.\n${said}")
else()
  set(EXECUTORCH_ROOT "${downloaded}/executorch" CACHE PATH "" FORCE)
endif()

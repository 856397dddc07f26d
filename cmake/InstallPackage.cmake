# What `cmake --install build --prefix P` puts there:
#
#   component  what
#   record     headers, libinferprobe_record.so, libinferprobe_regions.so, the package with its
#              targets inferprobe::record and inferprobe::regions
#   delegate   libinferprobe_delegate.so, the kit for authors of delegates, inferprobe::delegate;
#              our OpenVINO delegate for ExecuTorch in lib/inferprobe
#   session    libinferprobe_session.so, engine plugins in lib/inferprobe, inferprobe::session
#   command    bin/inferprobe
#
# `--component record` installs the first alone; each of the others needs those above it.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/inferprobe)
set(plugin_dir ${CMAKE_INSTALL_LIBDIR}/inferprobe)  # searched by src/measure/engine_registry.cc

set_target_properties(inferprobe_regions PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS inferprobe_record inferprobe_regions EXPORT inferprobeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT record)
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/inferprobe
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT record FILES_MATCHING PATTERN "*.h")
install(EXPORT inferprobeTargets NAMESPACE inferprobe::
  DESTINATION ${package_dir} COMPONENT record)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/inferprobeConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/inferprobeConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/inferprobeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/inferprobeConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/inferprobeConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT record)

# Exports of their own: a package without one of these components must not name its files.
set_target_properties(inferprobe_delegate PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS inferprobe_delegate EXPORT inferprobeDelegateTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT delegate)
install(EXPORT inferprobeDelegateTargets NAMESPACE inferprobe::
  DESTINATION ${package_dir} COMPONENT delegate)
if(TARGET inferprobe_session)
  set_target_properties(inferprobe_session PROPERTIES
    EXPORT_NAME session
    INSTALL_RPATH "$ORIGIN")
  install(TARGETS inferprobe_session EXPORT inferprobeSessionTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT session)
  install(EXPORT inferprobeSessionTargets NAMESPACE inferprobe::
    DESTINATION ${package_dir} COMPONENT session)
endif()
if(TARGET inferprobe_engine_executorch)
  # Their libraries are the wheel's, where that lay at build time; ours lie one folder up. Linked so,
  # not changed at installing: the wheel's targets add paths that CMake does not find again then.
  get_target_property(wheel_libraries inferprobe_engine_executorch BUILD_RPATH)
  set_target_properties(inferprobe_engine_executorch inferprobe_delegate_openvino PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN;$ORIGIN/..;${wheel_libraries}")
  install(TARGETS inferprobe_engine_executorch
    LIBRARY DESTINATION ${plugin_dir} COMPONENT session)
  install(TARGETS inferprobe_delegate_openvino
    LIBRARY DESTINATION ${plugin_dir} COMPONENT delegate)
endif()
if(TARGET inferprobe)
  install(TARGETS inferprobe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()

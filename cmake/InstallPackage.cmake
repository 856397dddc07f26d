# The package that other projects find: headers, the library, and a target inferprobe::record.
# `cmake --install build --prefix P --component record` installs this part alone.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/inferprobe)
install(TARGETS inferprobe_record EXPORT inferprobeTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT record)
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/../../include/inferprobe
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT record FILES_MATCHING PATTERN "*.h")
install(EXPORT inferprobeTargets NAMESPACE inferprobe::
  DESTINATION ${package_dir} COMPONENT record)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/../../cmake/inferprobeConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/inferprobeConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/inferprobeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/inferprobeConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/inferprobeConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT record)
